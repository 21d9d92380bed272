resource "google_service_account" "this" {
  project      = var.project_id
  account_id   = var.name
  display_name = "Scheduler ${var.name}"
}

resource "google_cloud_scheduler_job" "this" {
  project          = var.project_id
  region           = var.region
  name             = var.name
  schedule         = var.schedule
  time_zone        = "Etc/UTC"
  attempt_deadline = "${var.deadline_seconds}s"

  retry_config {
    retry_count = 1 # the next run catches up
  }

  http_target {
    uri         = var.uri
    http_method = "POST"

    oidc_token {
      service_account_email = google_service_account.this.email
      audience              = var.uri
    }
  }
}
