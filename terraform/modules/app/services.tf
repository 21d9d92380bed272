locals {
  services = concat(
    ["artifactregistry", "cloudbuild", "cloudfunctions", "cloudscheduler", "firestore", "iam", "logging", "monitoring", "run", "secretmanager", "storage"],
    var.edge == "gateway" ? ["apigateway", "servicecontrol", "servicemanagement"] : [],
    var.edge == "load_balancer" ? ["compute"] : [],
    var.embedder == "vertex" ? ["aiplatform"] : [],
    var.budget == null ? [] : ["billingbudgets"],
  )
}

resource "google_project_service" "this" {
  for_each = toset(local.services)

  project            = var.project_id
  service            = "${each.key}.googleapis.com"
  disable_on_destroy = false # something else in the project may use it
}
