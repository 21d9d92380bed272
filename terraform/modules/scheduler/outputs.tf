output "member" {
  description = "The job's identity as an IAM member."
  value       = google_service_account.this.member
}
