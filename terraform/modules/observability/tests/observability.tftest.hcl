mock_provider "google" {}

variables {
  project_id   = "test-project"
  name         = "am-test"
  host         = "memory.example.com"
  alert_emails = ["a@example.com", "b@example.com"]
}

run "alerts_go_to_everybody" {
  command = apply

  assert {
    condition     = alltrue([for policy in google_monitoring_alert_policy.query : length(policy.notification_channels) == 2])
    error_message = "each alert tells each address"
  }
  assert {
    condition     = length(google_monitoring_alert_policy.uptime.notification_channels) == 2 && length(google_monitoring_alert_policy.quota_denials.notification_channels) == 2
    error_message = "each alert tells each address"
  }
  assert {
    condition     = strcontains(local.queries.errors.query, "response_code!=\"501\"")
    error_message = "callers who ask for what is not offered set off no alert"
  }
  assert {
    condition     = strcontains(google_monitoring_alert_policy.uptime.conditions[0].condition_threshold[0].filter, google_monitoring_uptime_check_config.health.uptime_check_id)
    error_message = "the alert must watch this check"
  }
}

run "counts_what_the_functions_log" {
  command = plan

  assert {
    condition     = strcontains(google_logging_metric.counter["quota_denials"].filter, "jsonPayload.status=429")
    error_message = "quota denials are answers with 429"
  }
  assert {
    condition     = google_logging_metric.distribution["tool_reads"].value_extractor == "EXTRACT(jsonPayload.reads)"
    error_message = "documents read are measured by tool"
  }
  assert {
    condition     = google_monitoring_uptime_check_config.health.monitored_resource[0].labels.host == "memory.example.com"
    error_message = "the check asks the base URL's host"
  }
}

run "dashboard_has_a_tile_for_each_chart_and_none_overlap" {
  command = plan

  assert {
    condition     = length(distinct([for tile in jsondecode(google_monitoring_dashboard.this.dashboard_json).mosaicLayout.tiles : "${tile.xPos},${tile.yPos}"])) == length(local.charts)
    error_message = "tiles overlap"
  }
  assert {
    condition     = alltrue([for tile in jsondecode(google_monitoring_dashboard.this.dashboard_json).mosaicLayout.tiles : tile.xPos + tile.width <= 12])
    error_message = "tiles reach beyond the last column"
  }
}
