# The bucket that holds the state of the environments. Applied once for each project, with local state.

terraform {
  required_version = ">= 1.11"

  required_providers {
    google = {
      source  = "hashicorp/google"
      version = "~> 8.7"
    }
  }
}

variable "project_id" {
  description = "Project of the environment."
  type        = string
}

variable "region" {
  description = "Region of the environment."
  type        = string
  default     = "us-central1"
}

provider "google" {
  project = var.project_id
  region  = var.region
}

resource "google_project_service" "this" {
  for_each = toset(["cloudresourcemanager", "serviceusage", "storage"])

  project            = var.project_id
  service            = "${each.key}.googleapis.com"
  disable_on_destroy = false
}

resource "google_storage_bucket" "state" {
  #checkov:skip=CKV_GCP_62:Cloud Audit Logs tell who read the state; an access log bucket would need one of its own
  project                     = var.project_id
  name                        = "${var.project_id}-terraform-state"
  location                    = var.region
  uniform_bucket_level_access = true
  public_access_prevention    = "enforced"

  versioning {
    enabled = true
  }

  lifecycle_rule {
    action {
      type = "Delete"
    }
    condition {
      num_newer_versions = 30
    }
  }

  depends_on = [google_project_service.this]

  lifecycle {
    prevent_destroy = true
  }
}

output "state_bucket" {
  description = "Bucket for `terraform init -backend-config=bucket=…`."
  value       = google_storage_bucket.state.name
}
