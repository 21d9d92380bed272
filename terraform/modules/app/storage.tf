resource "google_storage_bucket" "cache" {
  #checkov:skip=CKV_GCP_62:only the functions read it, and each of their requests is logged
  #checkov:skip=CKV_GCP_78:objects are immutable and derived; old versions would only be paid for
  project                     = var.project_id
  name                        = "${var.project_id}-${local.name}-cache"
  location                    = var.region
  uniform_bucket_level_access = true
  public_access_prevention    = "enforced"
  force_destroy               = true # derived from the documents; the next reader makes it again

  soft_delete_policy {
    retention_duration_seconds = 0 # deleted bytes would be billed for another week
  }

  depends_on = [google_project_service.this]
}

resource "google_storage_bucket" "source" {
  #checkov:skip=CKV_GCP_62:only builds read it, and Cloud Build logs them
  project                     = var.project_id
  name                        = "${var.project_id}-${local.name}-source"
  location                    = var.region
  uniform_bucket_level_access = true
  public_access_prevention    = "enforced"
  force_destroy               = !var.protected

  versioning {
    enabled = true
  }

  lifecycle_rule {
    action {
      type = "Delete"
    }
    condition {
      days_since_noncurrent_time = 30
    }
  }

  depends_on = [google_project_service.this]
}

# The name holds a hash of the content, so a function changes exactly when its source does.
resource "google_storage_bucket_object" "package" {
  for_each = local.functions

  bucket = google_storage_bucket.source.name
  name   = var.packages[each.key].object
  source = var.packages[each.key].file
}
