# API Gateway calls the functions, which are private, with an identity of its own. Its token takes the place of the
# caller's in `Authorization`; the caller's arrives in `X-Forwarded-Authorization`.

locals {
  gateway = var.kind == "gateway" ? 1 : 0

  every_method = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]
  all_routes   = concat(var.routes, [{ path = "/**", methods = local.every_method, function = var.default_function }])

  # The gateway knows no path that ends in a slash, but `{rest=**}` may be empty.
  gateway_paths = {
    for route in local.all_routes : replace(route.path, "/\\/(\\*\\*)?$/", "/{rest=**}") => route
  }

  openapi = {
    swagger  = "2.0"
    info     = { title = var.name, version = "1" }
    schemes  = ["https"]
    produces = ["application/json"]
    paths = {
      for path, route in local.gateway_paths : path => {
        for method in route.methods : lower(method) => merge(
          {
            operationId = join("_", compact(split("_", replace("${lower(method)}_${path}", "/[^a-z0-9]+/", "_"))))
            responses   = { default = { description = "The function's answer." } }
            "x-google-backend" = {
              address          = var.functions[route.function].uri
              jwt_audience     = var.functions[route.function].uri
              path_translation = "APPEND_PATH_TO_ADDRESS"
              deadline         = var.deadline_seconds
            }
          },
          {
            for key, names in { parameters = regexall("\\{([a-z_]+)", path) } : key => [
              for name in names : { name = name[0], in = "path", required = true, type = "string" }
            ] if length(names) > 0
          }
        )
      }
    }
  }
}

resource "google_service_account" "gateway" {
  count = local.gateway

  project      = var.project_id
  account_id   = "${var.name}-gateway"
  display_name = "API Gateway of ${var.name}"
}

resource "google_api_gateway_api" "this" {
  count    = local.gateway
  provider = google-beta

  project = var.project_id
  api_id  = var.name
}

resource "google_api_gateway_api_config" "this" {
  count    = local.gateway
  provider = google-beta

  project              = var.project_id
  api                  = google_api_gateway_api.this[0].api_id
  api_config_id_prefix = "${var.name}-"

  openapi_documents {
    document {
      path     = "openapi.json"
      contents = base64encode(jsonencode(local.openapi))
    }
  }

  gateway_config {
    backend_config {
      google_service_account = google_service_account.gateway[0].email
    }
  }

  lifecycle {
    create_before_destroy = true # a gateway in use does not let go of its configuration
  }
}

resource "google_api_gateway_gateway" "this" {
  count    = local.gateway
  provider = google-beta

  project    = var.project_id
  region     = var.region
  gateway_id = var.name
  api_config = google_api_gateway_api_config.this[0].id
}
