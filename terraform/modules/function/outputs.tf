output "name" {
  description = "Name of the function and of the Cloud Run service under it."
  value       = google_cloudfunctions2_function.this.name
}

output "uri" {
  description = "Address of the function; also the audience of tokens for it."
  value       = google_cloudfunctions2_function.this.service_config[0].uri
}
