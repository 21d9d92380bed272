# An external HTTPS load balancer in front of functions that anybody may call, but only through it.

locals {
  balancer           = var.kind == "load_balancer" ? 1 : 0
  balanced_functions = var.kind == "load_balancer" ? toset(concat(var.routes[*].function, [var.default_function])) : toset([])

  # URL maps match whole segments with a star at the end only.
  balanced_paths = {
    for function in local.balanced_functions : function => distinct([
      for route in var.routes : replace(route.path, "/(\\{[a-z_]+\\}|\\*\\*)$/", "*") if route.function == function
    ])
  }
}

resource "google_compute_region_network_endpoint_group" "this" {
  for_each = local.balanced_functions

  project               = var.project_id
  region                = var.region
  name                  = var.functions[each.key].name
  network_endpoint_type = "SERVERLESS"

  cloud_run {
    service = var.functions[each.key].name
  }
}

resource "google_compute_backend_service" "this" {
  for_each = local.balanced_functions

  project               = var.project_id
  name                  = var.functions[each.key].name
  load_balancing_scheme = "EXTERNAL_MANAGED"

  backend {
    group = google_compute_region_network_endpoint_group.this[each.key].id
  }
}

resource "google_compute_url_map" "this" {
  count = local.balancer

  project         = var.project_id
  name            = var.name
  default_service = google_compute_backend_service.this[var.default_function].id

  host_rule {
    hosts        = [var.domain]
    path_matcher = "functions"
  }

  path_matcher {
    name            = "functions"
    default_service = google_compute_backend_service.this[var.default_function].id

    dynamic "path_rule" {
      for_each = { for function, paths in local.balanced_paths : function => paths if length(paths) > 0 }
      content {
        paths   = path_rule.value
        service = google_compute_backend_service.this[path_rule.key].id
      }
    }
  }
}

resource "google_compute_global_address" "this" {
  count = local.balancer

  project = var.project_id
  name    = var.name
}

resource "google_compute_managed_ssl_certificate" "this" {
  count = local.balancer

  project = var.project_id
  name    = var.name

  managed {
    domains = [var.domain]
  }
}

resource "google_compute_target_https_proxy" "this" {
  count = local.balancer

  project          = var.project_id
  name             = var.name
  url_map          = google_compute_url_map.this[0].id
  ssl_certificates = [google_compute_managed_ssl_certificate.this[0].id]
}

resource "google_compute_global_forwarding_rule" "this" {
  count = local.balancer

  project               = var.project_id
  name                  = var.name
  load_balancing_scheme = "EXTERNAL_MANAGED"
  ip_address            = google_compute_global_address.this[0].id
  port_range            = "443"
  target                = google_compute_target_https_proxy.this[0].id
}
