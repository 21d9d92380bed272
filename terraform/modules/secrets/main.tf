resource "google_secret_manager_secret" "this" {
  for_each = var.versions

  project   = var.project_id
  secret_id = "${var.prefix}-${lower(replace(each.key, "_", "-"))}"

  replication {
    auto {}
  }
}

resource "google_secret_manager_secret_version" "this" {
  for_each = var.versions

  secret = google_secret_manager_secret.this[each.key].id
  # Only sent when the number is new. Secret Manager refuses an empty value, so a forgotten one cannot go live.
  secret_data_wo         = lookup(var.values, each.key, "")
  secret_data_wo_version = each.value
  deletion_policy        = "ABANDON" # a revision of a function that is rolled back to still needs it

  lifecycle {
    create_before_destroy = true
  }
}
