# Who builds the functions and where the images lie.

resource "google_service_account" "build" {
  project      = var.project_id
  account_id   = "${local.name}-build"
  display_name = "Builds the functions of ${local.name}"

  depends_on = [google_project_service.this]
}

resource "google_project_iam_member" "build" {
  project = var.project_id
  role    = "roles/logging.logWriter"
  member  = google_service_account.build.member
}

resource "google_storage_bucket_iam_member" "build" {
  bucket = google_storage_bucket.source.name
  role   = "roles/storage.objectViewer"
  member = google_service_account.build.member
}

resource "google_artifact_registry_repository" "functions" {
  #checkov:skip=CKV_GCP_84:images hold the published code and no data; keys of Google protect them
  project       = var.project_id
  location      = var.region
  repository_id = local.name
  format        = "DOCKER"

  cleanup_policies {
    id     = "keep-recent"
    action = "KEEP"
    most_recent_versions {
      keep_count = 5
    }
  }
  cleanup_policies {
    id     = "delete-old"
    action = "DELETE"
    condition {
      older_than = "2592000s"
    }
  }

  depends_on = [google_project_service.this]
}

resource "google_artifact_registry_repository_iam_member" "build" {
  project    = var.project_id
  location   = var.region
  repository = google_artifact_registry_repository.functions.name
  role       = "roles/artifactregistry.writer"
  member     = google_service_account.build.member
}
