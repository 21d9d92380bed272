# Everything of one environment. Read from here: what each function is given decides what else exists.

locals {
  name   = "am-${var.environment}"
  openai = var.embedder == "openai" ? ["OPENAI_API_KEY"] : []

  # One CPU serves many requests at once, so it pays where requests are many. The rest are rare and small: a third of
  # a CPU, which the platform lets handle one request at a time.
  large = { cpu = "1", memory = "512Mi", concurrency = 16, max_instances = 20, timeout_seconds = 60 }
  small = { cpu = "0.333", memory = "512Mi", concurrency = 1, max_instances = 5, timeout_seconds = 60 }

  # Beside the sizes: the role on the database, the role on the bucket of derived data, and the secrets.
  functions = {
    mcp         = { size = merge(local.large, { timeout_seconds = 120 }), store = "user", bucket = "objectUser", secrets = concat(["JWT_SECRET", "AM_KEY_PEPPER"], local.openai) }
    memories    = { size = local.large, store = "user", bucket = "objectUser", secrets = concat(["AM_KEY_PEPPER"], local.openai) }
    keys        = { size = local.small, store = "user", bucket = null, secrets = ["AM_KEY_PEPPER", "AM_ADMIN_TOKEN"] }
    space_token = { size = local.small, store = "user", bucket = null, secrets = ["AM_KEY_PEPPER", "JWT_SECRET"] }
    health      = { size = local.small, store = "viewer", bucket = "objectViewer", secrets = [] }
    maintenance = { size = merge(local.small, { cpu = "1", memory = "1Gi", max_instances = 1, timeout_seconds = 1800 }), store = "user", bucket = "objectUser", secrets = [] }
  }

  settings = {
    GOOGLE_CLOUD_PROJECT = var.project_id
    FIRESTORE_DATABASE   = module.firestore.database
    AM_STORE             = "firestore"
    AM_OBJECTS           = "gcs"
    AM_BUCKET            = google_storage_bucket.cache.name
    AM_EMBEDDER          = var.embedder
    AM_FUSION            = var.fusion
    AM_TIERS             = jsonencode(var.tiers)
    AM_SIGNUP_TIERS      = join(",", var.signup_tiers)
    AM_SIGNUP_PER_HOUR   = tostring(var.signup_per_hour)
    AM_ALLOWED_ORIGINS   = join(",", var.allowed_origins)
    AM_ANONYMOUS_REST    = "0" # only for a laptop: whoever reaches the address would share one memory
    LOG_LEVEL            = var.log_level
  }
}

module "firestore" {
  source = "../firestore"

  project_id             = var.project_id
  location               = var.region
  collections            = jsondecode(file("${path.module}/../firestore/collections.json"))
  protected              = var.protected
  point_in_time_recovery = var.point_in_time_recovery
  daily_backup_days      = var.daily_backup_days

  depends_on = [google_project_service.this]
}

module "secrets" {
  source = "../secrets"

  project_id = var.project_id
  prefix     = local.name
  versions   = var.secret_versions
  values     = var.secret_values

  depends_on = [google_project_service.this]
}

module "function" {
  source   = "../function"
  for_each = local.functions

  project_id = var.project_id
  region     = var.region
  name       = "${local.name}-${replace(each.key, "_", "-")}"
  size = merge(each.value.size, {
    min_instances = coalesce(try(var.instances[each.key].min, null), 0)
    max_instances = coalesce(try(var.instances[each.key].max, null), each.value.size.max_instances)
  })

  package = {
    bucket      = google_storage_bucket.source.name
    object      = google_storage_bucket_object.package[each.key].name
    entry_point = var.packages[each.key].entry_point
    runtime     = var.packages[each.key].runtime
  }
  build = {
    service_account = google_service_account.build.id
    repository      = google_artifact_registry_repository.functions.id
  }

  environment = merge(local.settings, { AM_AUTH_HEADER = module.edge.auth_header })
  secrets     = { for name in each.value.secrets : name => module.secrets.versions[name] }

  project_roles = merge(
    { "roles/datastore.${each.value.store}" = "resource.name == \"projects/${var.project_id}/databases/${module.firestore.database}\"" },
    contains(["mcp", "memories"], each.key) && var.embedder == "vertex" ? { "roles/aiplatform.user" = null } : {},
  )
  bucket_roles = each.value.bucket == null ? {} : { cache = { bucket = google_storage_bucket.cache.name, role = "roles/storage.${each.value.bucket}" } }

  ingress  = each.key == "maintenance" ? "ALLOW_INTERNAL_ONLY" : module.edge.ingress
  invokers = each.key == "maintenance" ? { scheduler = module.scheduler.member } : module.edge.invokers

  depends_on = [google_project_iam_member.build, google_storage_bucket_iam_member.build, google_artifact_registry_repository_iam_member.build]
}

module "edge" {
  source = "../edge"

  project_id       = var.project_id
  region           = var.region
  name             = local.name
  kind             = var.edge
  domain           = var.domain
  routes           = var.routes
  functions        = { for name, function in module.function : name => { name = function.name, uri = function.uri } if name != "maintenance" }
  default_function = "health"
  deadline_seconds = local.functions.mcp.size.timeout_seconds
}

module "scheduler" {
  source = "../scheduler"

  project_id       = var.project_id
  region           = var.region
  name             = "${local.name}-upkeep"
  schedule         = "17 3 * * *"
  uri              = module.function["maintenance"].uri
  deadline_seconds = local.functions.maintenance.size.timeout_seconds
}

module "observability" {
  source = "../observability"

  project_id   = var.project_id
  name         = local.name
  host         = module.edge.host
  alert_emails = var.alert_emails

  depends_on = [google_project_service.this]
}
