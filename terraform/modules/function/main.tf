resource "google_service_account" "this" {
  project      = var.project_id
  account_id   = var.name
  display_name = "Function ${var.name}"
}

resource "google_project_iam_member" "this" {
  for_each = var.project_roles

  project = var.project_id
  role    = each.key
  member  = google_service_account.this.member

  dynamic "condition" {
    for_each = each.value == null ? [] : [each.value]
    content {
      title      = "only what ${var.name} needs"
      expression = condition.value
    }
  }
}

resource "google_storage_bucket_iam_member" "this" {
  for_each = var.bucket_roles

  bucket = each.value.bucket
  role   = each.value.role
  member = google_service_account.this.member
}

resource "google_secret_manager_secret_iam_member" "this" {
  for_each = var.secrets

  project   = var.project_id
  secret_id = each.value.secret
  role      = "roles/secretmanager.secretAccessor"
  member    = google_service_account.this.member
}

resource "google_cloudfunctions2_function" "this" {
  project  = var.project_id
  location = var.region
  name     = var.name

  build_config {
    runtime           = var.package.runtime
    entry_point       = var.package.entry_point
    service_account   = var.build.service_account
    docker_repository = var.build.repository

    source {
      storage_source {
        bucket = var.package.bucket
        object = var.package.object
      }
    }

    on_deploy_update_policy {}
  }

  service_config {
    available_cpu                    = var.size.cpu
    available_memory                 = var.size.memory
    max_instance_request_concurrency = var.size.concurrency
    min_instance_count               = var.size.min_instances
    max_instance_count               = var.size.max_instances
    timeout_seconds                  = var.size.timeout_seconds
    ingress_settings                 = var.ingress
    service_account_email            = google_service_account.this.email

    environment_variables = merge(var.environment, {
      THREADS = tostring(var.size.concurrency) # as many as the platform sends at once; the framework's own guess differs
    })

    dynamic "secret_environment_variables" {
      for_each = var.secrets
      content {
        key        = secret_environment_variables.key
        project_id = var.project_id
        secret     = secret_environment_variables.value.secret
        version    = secret_environment_variables.value.version
      }
    }
  }

  depends_on = [google_secret_manager_secret_iam_member.this]
}

resource "google_cloud_run_service_iam_member" "invoker" {
  for_each = var.invokers

  project  = var.project_id
  location = var.region
  service  = google_cloudfunctions2_function.this.name
  role     = "roles/run.invoker"
  member   = each.value

  lifecycle {
    replace_triggered_by = [google_cloudfunctions2_function.this.id] # a recreated service comes without its bindings
  }
}
