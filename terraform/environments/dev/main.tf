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
  labels = { service = "am-server", environment = "dev" }

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
  environment = "dev"
  packages    = local.packages
  routes      = jsondecode(file("${local.root}/infra/routes.json"))

  # Thrown away and made again at will.
  protected              = false
  point_in_time_recovery = false

  signup_tiers    = ["explorer", "builder", "pro"]
  signup_per_hour = 0
  log_level       = "DEBUG"
  instances       = { for name in ["mcp", "memories", "keys", "space_token", "health"] : name => { max = 2 } }

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
