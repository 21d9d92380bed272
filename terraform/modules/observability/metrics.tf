# Counted from the line that each function logs for each request.

locals {
  line = "resource.type=\"cloud_run_revision\" AND resource.labels.service_name=~\"^${var.name}-\" AND jsonPayload.request_id:*"

  counters = {
    quota_denials = { filter = "jsonPayload.status=429", label = "account", describe = "Calls beyond an account's quota, by hashed account." }
    auth_failures = { filter = "jsonPayload.status=401", label = "function", describe = "Requests without a good key." }
    bugs          = { filter = "jsonPayload.exception:*", label = "exception", describe = "Exceptions that no code expected." }
  }

  distributions = {
    tool_latency = { value = "latency_ms", unit = "ms", scale = 1, describe = "Milliseconds from the first to the last byte of work, by tool." }
    tool_reads   = { value = "reads", unit = "1", scale = 1, describe = "Documents read, by tool." }
    tool_writes  = { value = "writes", unit = "1", scale = 1, describe = "Documents written, by tool." }
  }
}

resource "google_logging_metric" "counter" {
  for_each = local.counters

  project          = var.project_id
  name             = "${var.name}/${each.key}"
  description      = each.value.describe
  filter           = "${local.line} AND ${each.value.filter}"
  label_extractors = { (each.value.label) = "EXTRACT(jsonPayload.${each.value.label})" }

  metric_descriptor {
    metric_kind = "DELTA"
    value_type  = "INT64"

    labels {
      key = each.value.label
    }
  }
}

resource "google_logging_metric" "distribution" {
  for_each = local.distributions

  project          = var.project_id
  name             = "${var.name}/${each.key}"
  description      = each.value.describe
  filter           = "${local.line} AND jsonPayload.tool:*"
  value_extractor  = "EXTRACT(jsonPayload.${each.value.value})"
  label_extractors = { tool = "EXTRACT(jsonPayload.tool)" }

  metric_descriptor {
    metric_kind = "DELTA"
    value_type  = "DISTRIBUTION"
    unit        = each.value.unit

    labels {
      key = "tool"
    }
  }

  bucket_options {
    exponential_buckets {
      num_finite_buckets = 40
      growth_factor      = 1.4
      scale              = each.value.scale
    }
  }
}

# The platform logs every request a second time; for one that went well that line says nothing new.
resource "google_logging_project_exclusion" "request_logs" {
  project     = var.project_id
  name        = "${var.name}-successful-requests"
  description = "Request logs of calls that succeeded; the functions' own lines stay."
  filter      = "resource.type=\"cloud_run_revision\" AND resource.labels.service_name=~\"^${var.name}-\" AND logName:\"run.googleapis.com%2Frequests\" AND httpRequest.status<400"
}
