locals {
  services = "monitored_resource=\"cloud_run_revision\",service_name=~\"${var.name}-.*\""

  queries = {
    errors = {
      # 501 answers those who ask for what is not offered
      title    = "more than 1 % of requests fail with 5xx"
      query    = "sum(rate(run_googleapis_com:request_count{${local.services},response_code_class=\"5xx\",response_code!=\"501\"}[10m])) / sum(rate(run_googleapis_com:request_count{${local.services}}[10m])) > 0.01"
      duration = "300s"
      advice   = "Look for lines of severity ERROR of the functions; `exception` and `at` say where. /docs/operations.md tells how to go back to the version before."
    }
    latency = {
      title    = "95 of 100 requests take longer than ${var.p95_milliseconds} ms"
      query    = "histogram_quantile(0.95, sum by (le) (rate(run_googleapis_com:request_latencies_bucket{${local.services}}[10m]))) > ${var.p95_milliseconds}"
      duration = "900s"
      advice   = "The dashboard shows whether instances start too often (raise min_instances), run out (raise max_instances), or wait for the store."
    }
  }
}

resource "google_monitoring_notification_channel" "email" {
  for_each = var.alert_emails

  project      = var.project_id
  display_name = each.key
  type         = "email"
  labels       = { email_address = each.key }
}

resource "google_monitoring_alert_policy" "query" {
  for_each = local.queries

  project               = var.project_id
  display_name          = "${var.name}: ${each.value.title}"
  combiner              = "OR"
  notification_channels = values(google_monitoring_notification_channel.email)[*].id

  conditions {
    display_name = each.value.title

    condition_prometheus_query_language {
      query               = each.value.query
      duration            = each.value.duration
      evaluation_interval = "60s"
    }
  }

  documentation {
    content   = each.value.advice
    mime_type = "text/markdown"
  }
}

resource "google_monitoring_alert_policy" "quota_denials" {
  project               = var.project_id
  display_name          = "${var.name}: many calls are refused over quota"
  combiner              = "OR"
  notification_channels = values(google_monitoring_notification_channel.email)[*].id

  conditions {
    display_name = "more than 1000 refusals in an hour"

    condition_threshold {
      filter          = "resource.type=\"cloud_run_revision\" AND metric.type=\"logging.googleapis.com/user/${google_logging_metric.counter["quota_denials"].name}\""
      comparison      = "COMPARISON_GT"
      threshold_value = 1000
      duration        = "0s"

      aggregations {
        alignment_period     = "3600s"
        per_series_aligner   = "ALIGN_SUM"
        cross_series_reducer = "REDUCE_SUM"
      }
    }
  }

  documentation {
    content   = "An account calls on although it is told to stop. The metric's label says which (hashed as in the logs); a larger tier, or revoking the key, ends it."
    mime_type = "text/markdown"
  }
}

resource "google_monitoring_uptime_check_config" "health" {
  project      = var.project_id
  display_name = "${var.name} /health"
  timeout      = "10s"
  period       = "300s"

  http_check {
    path         = "/health?deep=1" # 503 when the database or the bucket does not answer
    port         = 443
    use_ssl      = true
    validate_ssl = true
  }

  monitored_resource {
    type = "uptime_url"
    labels = {
      project_id = var.project_id
      host       = var.host
    }
  }
}

resource "google_monitoring_alert_policy" "uptime" {
  project               = var.project_id
  display_name          = "${var.name}: /health does not answer"
  combiner              = "OR"
  notification_channels = values(google_monitoring_notification_channel.email)[*].id

  conditions {
    display_name = "two regions cannot reach /health"

    condition_threshold {
      filter          = "resource.type=\"uptime_url\" AND metric.type=\"monitoring.googleapis.com/uptime_check/check_passed\" AND metric.labels.check_id=\"${google_monitoring_uptime_check_config.health.uptime_check_id}\""
      comparison      = "COMPARISON_GT"
      threshold_value = 1
      duration        = "600s"

      aggregations {
        alignment_period     = "600s"
        per_series_aligner   = "ALIGN_NEXT_OLDER"
        cross_series_reducer = "REDUCE_COUNT_FALSE"
        group_by_fields      = ["resource.label.host"]
      }
    }
  }

  documentation {
    content   = "Compare with Google's status page, then with the last deployment."
    mime_type = "text/markdown"
  }
}
