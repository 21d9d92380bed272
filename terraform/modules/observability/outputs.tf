output "channels" {
  description = "Notification channels of the alert e-mail addresses."
  value       = values(google_monitoring_notification_channel.email)[*].id
}
