mock_provider "google" {
  mock_resource "google_service_account" {
    defaults = {
      email  = "am-test-upkeep@test-project.iam.gserviceaccount.com"
      member = "serviceAccount:am-test-upkeep@test-project.iam.gserviceaccount.com"
    }
  }
}

variables {
  project_id       = "test-project"
  region           = "us-central1"
  name             = "am-test-upkeep"
  schedule         = "17 3 * * *"
  uri              = "https://maintenance.run.app"
  deadline_seconds = 1800
}

run "calls_with_its_own_identity" {
  command = apply

  assert {
    condition     = google_cloud_scheduler_job.this.http_target[0].oidc_token[0].service_account_email == google_service_account.this.email
    error_message = "the job must call as its own account"
  }
  assert {
    condition     = google_cloud_scheduler_job.this.http_target[0].oidc_token[0].audience == "https://maintenance.run.app"
    error_message = "the token must be for the function"
  }
  assert {
    condition     = google_cloud_scheduler_job.this.attempt_deadline == "1800s"
    error_message = "a run may take half an hour"
  }
  assert {
    condition     = output.member == "serviceAccount:am-test-upkeep@test-project.iam.gserviceaccount.com"
    error_message = "the function must be told whom to let in"
  }
}
