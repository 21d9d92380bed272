mock_provider "google" {
  mock_resource "google_service_account" {
    defaults = {
      email  = "am-test-mcp@test-project.iam.gserviceaccount.com"
      member = "serviceAccount:am-test-mcp@test-project.iam.gserviceaccount.com"
    }
  }
}

variables {
  project_id    = "test-project"
  region        = "us-central1"
  name          = "am-test-mcp"
  package       = { bucket = "source", object = "functions/mcp/abc.zip", entry_point = "mcp", runtime = "python311" }
  build         = { service_account = "projects/test-project/serviceAccounts/build", repository = "projects/test-project/locations/us-central1/repositories/am" }
  size          = { cpu = "1", memory = "512Mi", concurrency = 16, min_instances = 0, max_instances = 20, timeout_seconds = 60 }
  environment   = { LOG_LEVEL = "INFO" }
  secrets       = { JWT_SECRET = { secret = "am-test-jwt-secret", version = "7" } }
  project_roles = { "roles/datastore.user" = "resource.name == \"projects/test-project/databases/(default)\"", "roles/aiplatform.user" = null }
  bucket_roles  = { cache = { bucket = "cache", role = "roles/storage.objectUser" } }
  ingress       = "ALLOW_ALL"
  invokers      = { gateway = "serviceAccount:gateway@test-project.iam.gserviceaccount.com" }
}

run "runs_as_its_own_account_with_pinned_secrets" {
  command = apply

  assert {
    condition     = google_cloudfunctions2_function.this.service_config[0].service_account_email == google_service_account.this.email
    error_message = "the function must run as its own service account"
  }
  assert {
    condition     = google_cloudfunctions2_function.this.service_config[0].secret_environment_variables[0].version == "7"
    error_message = "secret versions are pinned"
  }
  assert {
    condition     = google_secret_manager_secret_iam_member.this["JWT_SECRET"].member == google_service_account.this.member
    error_message = "the account must be able to read its secrets"
  }
  assert {
    condition     = google_project_iam_member.this["roles/datastore.user"].condition[0].expression == "resource.name == \"projects/test-project/databases/(default)\""
    error_message = "the role on the store is narrowed to the database"
  }
  assert {
    condition     = length(google_project_iam_member.this["roles/aiplatform.user"].condition) == 0
    error_message = "null means no condition"
  }
  assert {
    condition     = google_storage_bucket_iam_member.this["cache"].role == "roles/storage.objectUser"
    error_message = "the account must be able to use the bucket"
  }
}

run "has_as_many_threads_as_requests" {
  command = plan

  assert {
    condition     = google_cloudfunctions2_function.this.service_config[0].environment_variables["THREADS"] == "16"
    error_message = "THREADS must equal the concurrency"
  }
}

run "only_the_invokers_may_call" {
  command = plan

  assert {
    condition     = google_cloud_run_service_iam_member.invoker["gateway"].member == "serviceAccount:gateway@test-project.iam.gserviceaccount.com" && length(google_cloud_run_service_iam_member.invoker) == 1
    error_message = "exactly the named invokers may call"
  }
}

run "a_fraction_of_a_cpu_handles_one_request" {
  command = plan

  variables {
    size = { cpu = "0.333", memory = "512Mi", concurrency = 2, min_instances = 0, max_instances = 5, timeout_seconds = 60 }
  }

  expect_failures = [var.size]
}

run "long_names_are_refused" {
  command = plan

  variables {
    name = "am-production-a-very-long-function-name"
  }

  expect_failures = [var.name]
}
