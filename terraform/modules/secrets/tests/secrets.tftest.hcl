mock_provider "google" {}

variables {
  project_id = "test-project"
  prefix     = "am-test"
  versions   = { JWT_SECRET = 1, AM_KEY_PEPPER = 3 }
  values     = { JWT_SECRET = "0123456789012345678901234567890123456789" }
}

run "names_and_numbers" {
  command = apply

  assert {
    condition     = google_secret_manager_secret.this["AM_KEY_PEPPER"].secret_id == "am-test-am-key-pepper"
    error_message = "the secret is named after its environment variable"
  }
  assert {
    condition     = google_secret_manager_secret_version.this["AM_KEY_PEPPER"].secret_data_wo_version == "3"
    error_message = "the number decides whether a value is stored"
  }
  assert {
    condition     = toset(keys(output.versions)) == toset(["JWT_SECRET", "AM_KEY_PEPPER"])
    error_message = "every secret has a version to pin"
  }
}

run "values_do_not_reach_the_state" {
  command = apply

  assert {
    condition     = google_secret_manager_secret_version.this["JWT_SECRET"].secret_data == null && google_secret_manager_secret_version.this["JWT_SECRET"].secret_data_wo == null
    error_message = "a secret's value must be in neither plan nor state"
  }
}

run "short_values_are_refused" {
  command = plan

  variables {
    values = { JWT_SECRET = "short" }
  }

  expect_failures = [var.values]
}
