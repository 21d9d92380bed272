locals {
  hosts = {
    gateway       = one(google_api_gateway_gateway.this[*].default_hostname)
    load_balancer = var.domain
    none          = replace(var.functions[var.default_function].uri, "https://", "")
  }
}

output "host" {
  description = "Host name of the base URL."
  value       = local.hosts[var.kind]
}

output "base_url" {
  description = "Where clients call. With the edge `none` it is the address of the default function alone."
  value       = "https://${local.hosts[var.kind]}"
}

output "invokers" {
  description = "Who must be allowed to call the functions, by name, as IAM members."
  value       = var.kind == "gateway" ? { gateway = one(google_service_account.gateway[*].member) } : { anybody = "allUsers" }
}

output "ingress" {
  description = "Where the functions must accept requests from."
  value       = var.kind == "load_balancer" ? "ALLOW_INTERNAL_AND_GCLB" : "ALLOW_ALL"
}

output "auth_header" {
  description = "Header in which the functions find the caller's bearer credential."
  value       = var.kind == "gateway" ? "X-Forwarded-Authorization" : "Authorization"
}

output "address" {
  description = "IP address that the domain's A record must name; null without a load balancer."
  value       = one(google_compute_global_address.this[*].address)
}
