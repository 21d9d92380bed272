resource "google_firestore_database" "this" {
  project                           = var.project_id
  name                              = var.database
  location_id                       = var.location
  type                              = "FIRESTORE_NATIVE"
  database_edition                  = "STANDARD"
  point_in_time_recovery_enablement = var.point_in_time_recovery ? "POINT_IN_TIME_RECOVERY_ENABLED" : "POINT_IN_TIME_RECOVERY_DISABLED"
  delete_protection_state           = var.protected ? "DELETE_PROTECTION_ENABLED" : "DELETE_PROTECTION_DISABLED"
  deletion_policy                   = var.protected ? "PREVENT" : "DELETE"
}

# Without this, every field of every document is written into two or three indexes: slower and dearer writes, and
# rising timestamps that limit a collection to some 500 writes a second.
resource "google_firestore_field" "unindexed" {
  for_each = var.collections

  project    = var.project_id
  database   = google_firestore_database.this.name
  collection = each.key
  field      = "*"

  index_config {}
}

locals {
  indexed = merge([
    for name, collection in var.collections : {
      for field in collection.indexed : "${name}.${field}" => { collection = name, field = field }
    }
  ]...)
  expiring = { for name, collection in var.collections : name => collection.expiring if collection.expiring != null }
}

resource "google_firestore_field" "indexed" {
  for_each = local.indexed

  project    = var.project_id
  database   = google_firestore_database.this.name
  collection = each.value.collection
  field      = each.value.field

  index_config {
    indexes {
      order       = "ASCENDING"
      query_scope = "COLLECTION"
    }
    indexes {
      order       = "DESCENDING"
      query_scope = "COLLECTION"
    }
  }

  depends_on = [google_firestore_field.unindexed]
}

resource "google_firestore_field" "expiring" {
  for_each = local.expiring

  project    = var.project_id
  database   = google_firestore_database.this.name
  collection = each.key
  field      = each.value

  index_config {}
  ttl_config {}

  depends_on = [google_firestore_field.unindexed]
}

resource "google_firestore_backup_schedule" "daily" {
  count = var.daily_backup_days == null ? 0 : 1

  project   = var.project_id
  database  = google_firestore_database.this.name
  retention = "${var.daily_backup_days * 86400}s"

  daily_recurrence {}
}
