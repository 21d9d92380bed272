mock_provider "google" {}

variables {
  project_id             = "test-project"
  location               = "us-central1"
  protected              = true
  point_in_time_recovery = true
  daily_backup_days      = 14
  collections = {
    notes    = { indexed = ["changed_at", "kind"], expiring = "expires_at" }
    accounts = { indexed = [] }
  }
}

run "every_collection_is_unindexed_but_for_the_queried_fields" {
  command = plan

  assert {
    condition     = toset(keys(google_firestore_field.unindexed)) == toset(["notes", "accounts"])
    error_message = "each collection needs its exemption"
  }
  assert {
    condition     = alltrue([for field in google_firestore_field.unindexed : field.field == "*" && length(field.index_config[0].indexes) == 0])
    error_message = "the exemption must leave no index"
  }
  assert {
    condition     = toset(keys(google_firestore_field.indexed)) == toset(["notes.changed_at", "notes.kind"])
    error_message = "each queried field needs its index"
  }
  assert {
    condition     = toset(google_firestore_field.indexed["notes.kind"].index_config[0].indexes[*].order) == toset(["ASCENDING", "DESCENDING"])
    error_message = "queries run in both directions"
  }
  assert {
    condition     = google_firestore_field.expiring["notes"].field == "expires_at" && length(google_firestore_field.expiring["notes"].index_config[0].indexes) == 0
    error_message = "a time-to-live field rises with time and must not be indexed"
  }
}

run "protection_and_recovery" {
  command = plan

  assert {
    condition     = google_firestore_database.this.delete_protection_state == "DELETE_PROTECTION_ENABLED" && google_firestore_database.this.deletion_policy == "PREVENT"
    error_message = "a protected database must not be deletable"
  }
  assert {
    condition     = google_firestore_database.this.point_in_time_recovery_enablement == "POINT_IN_TIME_RECOVERY_ENABLED"
    error_message = "point-in-time recovery was asked for"
  }
  assert {
    condition     = google_firestore_backup_schedule.daily[0].retention == "1209600s"
    error_message = "fourteen days are 1209600 seconds"
  }
}

run "no_backups_unless_asked_for" {
  command = plan

  variables {
    daily_backup_days = null
  }

  assert {
    condition     = length(google_firestore_backup_schedule.daily) == 0
    error_message = "null means no backups"
  }
}

run "backups_are_kept_at_most_98_days" {
  command = plan

  variables {
    daily_backup_days = 99
  }

  expect_failures = [var.daily_backup_days]
}

run "an_expiring_field_is_never_indexed" {
  command = plan

  variables {
    collections = { notes = { indexed = ["expires_at"], expiring = "expires_at" } }
  }

  expect_failures = [var.collections]
}
