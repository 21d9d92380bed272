provider "google" {
  project        = var.project_id
  region         = var.region
  default_labels = local.labels
}

provider "google-beta" {
  project        = var.project_id
  region         = var.region
  default_labels = local.labels
}

locals {
  root   = "${path.module}/../../.."
  labels = { service = "am-server", environment = "prod" }

  # Written by `make package`.
  packages = {
    for name, package in jsondecode(file("${local.root}/dist/manifest.json")) : name => merge(package, {
      file = "${local.root}/dist/${package.file}"
    })
  }
}

module "app" {
  source = "../../modules/app"

  project_id  = var.project_id
  region      = var.region
  environment = "prod"
  packages    = local.packages
  routes      = jsondecode(file("${local.root}/infra/routes.json"))

  protected              = true
  point_in_time_recovery = true
  daily_backup_days      = 14

  secret_values = var.secret_values
  alert_emails  = var.alert_emails
  budget        = var.budget
}

output "base_url" {
  description = "Where clients call."
  value       = module.app.base_url
}

output "address" {
  description = "IP address for the domain's A record; null without a load balancer."
  value       = module.app.address
}
