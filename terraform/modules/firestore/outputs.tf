output "database" {
  description = "Name of the database, once its indexes are there."
  value       = google_firestore_database.this.name

  depends_on = [google_firestore_field.indexed]
}
