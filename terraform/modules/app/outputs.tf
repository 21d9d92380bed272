output "base_url" {
  description = "Where clients call."
  value       = module.edge.base_url
}

output "function_urls" {
  description = "Function → its own address."
  value       = { for name, function in module.function : name => function.uri }
}

output "address" {
  description = "IP address for the domain's A record; null without a load balancer."
  value       = module.edge.address
}
