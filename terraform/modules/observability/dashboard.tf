locals {
  tool_metric = "logging_googleapis_com:user_${replace(var.name, "-", "_")}"
  logged      = "monitored_resource=\"cloud_run_revision\""

  charts = [
    { title = "Requests a second, by answer", query = "sum by (response_code_class) (rate(run_googleapis_com:request_count{${local.services}}[5m]))" },
    { title = "Latency p50, p95 (ms)", query = "histogram_quantile(0.95, sum by (le, service_name) (rate(run_googleapis_com:request_latencies_bucket{${local.services}}[5m])))" },
    { title = "Latency p95 by tool (ms)", query = "histogram_quantile(0.95, sum by (le, tool) (rate(${local.tool_metric}_tool_latency_bucket{${local.logged}}[5m])))" },
    { title = "Calls a second, by tool", query = "sum by (tool) (rate(${local.tool_metric}_tool_latency_count{${local.logged}}[5m]))" },
    { title = "Documents read per call, by tool", query = "sum by (tool) (rate(${local.tool_metric}_tool_reads_sum{${local.logged}}[5m])) / sum by (tool) (rate(${local.tool_metric}_tool_reads_count{${local.logged}}[5m]))" },
    { title = "Documents written per call, by tool", query = "sum by (tool) (rate(${local.tool_metric}_tool_writes_sum{${local.logged}}[5m])) / sum by (tool) (rate(${local.tool_metric}_tool_writes_count{${local.logged}}[5m]))" },
    { title = "Instances", query = "sum by (service_name, state) (run_googleapis_com:container_instance_count{${local.services}})" },
    { title = "Refusals: quota, authentication, bugs", query = "sum(rate(${local.tool_metric}_quota_denials{${local.logged}}[5m])) or sum(rate(${local.tool_metric}_auth_failures{${local.logged}}[5m])) or sum(rate(${local.tool_metric}_bugs{${local.logged}}[5m]))" },
    { title = "Firestore operations a second", query = "sum(rate(firestore_googleapis_com:document_read_ops_count{monitored_resource=\"firestore.googleapis.com/Database\"}[5m])) or sum(rate(firestore_googleapis_com:document_write_ops_count{monitored_resource=\"firestore.googleapis.com/Database\"}[5m]))" },
  ]
}

resource "google_monitoring_dashboard" "this" {
  project = var.project_id

  dashboard_json = jsonencode({
    displayName = var.name
    mosaicLayout = {
      columns = 12
      tiles = [
        for index, chart in local.charts : {
          xPos   = index % 3 * 4
          yPos   = floor(index / 3) * 4
          width  = 4
          height = 4
          widget = {
            title = chart.title
            xyChart = {
              dataSets = [{ plotType = "LINE", timeSeriesQuery = { prometheusQuery = chart.query } }]
            }
          }
        }
      ]
    }
  })
}
