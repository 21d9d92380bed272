output "versions" {
  description = "Environment variable → the secret's id and the exact version to use."
  value = {
    for name, version in google_secret_manager_secret_version.this : name => {
      secret  = google_secret_manager_secret.this[name].secret_id
      version = version.version
    }
  }
}
