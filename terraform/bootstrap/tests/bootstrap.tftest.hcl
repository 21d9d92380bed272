mock_provider "google" {}

variables {
  project_id = "test-project"
}

run "the_state_is_private_and_versioned" {
  command = plan

  assert {
    condition     = google_storage_bucket.state.public_access_prevention == "enforced" && google_storage_bucket.state.uniform_bucket_level_access
    error_message = "the state must not be public"
  }
  assert {
    condition     = google_storage_bucket.state.versioning[0].enabled
    error_message = "an older state must be recoverable"
  }
}
