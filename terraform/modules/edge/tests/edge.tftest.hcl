mock_provider "google" {
  mock_resource "google_service_account" {
    defaults = {
      email  = "am-test-gateway@test-project.iam.gserviceaccount.com"
      member = "serviceAccount:am-test-gateway@test-project.iam.gserviceaccount.com"
    }
  }
}
mock_provider "google-beta" {
  mock_resource "google_api_gateway_gateway" {
    defaults = { default_hostname = "am-test-abc.uc.gateway.dev" }
  }
}

variables {
  project_id       = "test-project"
  region           = "us-central1"
  name             = "am-test"
  kind             = "gateway"
  default_function = "health"
  deadline_seconds = 120
  routes = [
    { path = "/mcp", methods = ["POST", "OPTIONS"], function = "mcp" },
    { path = "/mcp/", methods = ["POST"], function = "mcp" },
    { path = "/v1/keys/{key_id}", methods = ["DELETE"], function = "keys" },
    { path = "/api/v2/**", methods = ["GET", "POST"], function = "mcp" },
    { path = "/health", methods = ["GET"], function = "health" },
  ]
  functions = {
    mcp    = { name = "am-test-mcp", uri = "https://mcp.run.app" }
    keys   = { name = "am-test-keys", uri = "https://keys.run.app" }
    health = { name = "am-test-health", uri = "https://health.run.app" }
  }
}

run "gateway_knows_every_path_and_method" {
  command = apply

  assert {
    condition     = toset(keys(local.openapi.paths)) == toset(["/mcp", "/mcp/{rest=**}", "/v1/keys/{key_id}", "/api/v2/{rest=**}", "/health", "/{rest=**}"])
    error_message = "paths: ${join(" ", keys(local.openapi.paths))}"
  }
  assert {
    condition     = toset(keys(local.openapi.paths["/mcp"])) == toset(["post", "options"])
    error_message = "methods are those of the route"
  }
  assert {
    condition     = local.openapi.paths["/v1/keys/{key_id}"].delete.parameters[0].name == "key_id"
    error_message = "a path parameter must be declared"
  }
  assert {
    condition     = !can(local.openapi.paths["/mcp"].post.parameters)
    error_message = "a path without parameters declares none"
  }
  assert {
    condition     = local.openapi.paths["/api/v2/{rest=**}"].post["x-google-backend"].jwt_audience == "https://mcp.run.app"
    error_message = "the gateway must present a token for the function it calls"
  }
  assert {
    condition     = length(distinct(flatten([for path in values(local.openapi.paths) : [for operation in values(path) : operation.operationId]]))) == length(flatten([for path in values(local.openapi.paths) : values(path)]))
    error_message = "operation ids must be unique"
  }
  assert {
    condition     = jsondecode(base64decode(google_api_gateway_api_config.this[0].openapi_documents[0].document[0].contents)).swagger == "2.0"
    error_message = "the gateway reads OpenAPI 2.0"
  }
}

run "gateway_calls_private_functions" {
  command = apply

  assert {
    condition     = output.base_url == "https://am-test-abc.uc.gateway.dev"
    error_message = "base_url: ${output.base_url}"
  }
  assert {
    condition     = output.auth_header == "X-Forwarded-Authorization" && output.ingress == "ALLOW_ALL"
    error_message = "behind the gateway the caller's credential moves"
  }
  assert {
    condition     = one(values(output.invokers)) == "serviceAccount:am-test-gateway@test-project.iam.gserviceaccount.com"
    error_message = "only the gateway may call"
  }
  assert {
    condition     = length(google_compute_url_map.this) == 0
    error_message = "a gateway needs no load balancer"
  }
}

run "load_balancer_sends_paths_to_functions" {
  command = apply

  variables {
    kind   = "load_balancer"
    domain = "memory.example.com"
  }

  assert {
    condition     = jsonencode(local.balanced_paths["mcp"]) == jsonencode(["/mcp", "/mcp/", "/api/v2/*"]) && local.balanced_paths["keys"][0] == "/v1/keys/*"
    error_message = "paths: ${jsonencode(local.balanced_paths)}"
  }
  assert {
    condition     = output.base_url == "https://memory.example.com" && output.auth_header == "Authorization"
    error_message = "the load balancer leaves headers alone"
  }
  assert {
    condition     = output.ingress == "ALLOW_INTERNAL_AND_GCLB"
    error_message = "functions must not be reachable around the load balancer"
  }
  assert {
    condition     = length(google_api_gateway_gateway.this) == 0
    error_message = "a load balancer needs no gateway"
  }
}

run "load_balancer_needs_a_domain" {
  command = plan

  variables {
    kind = "load_balancer"
  }

  expect_failures = [var.domain]
}

run "no_edge" {
  command = apply

  variables {
    kind = "none"
  }

  assert {
    condition     = output.base_url == "https://health.run.app" && one(values(output.invokers)) == "allUsers"
    error_message = "without an edge anybody calls the functions"
  }
}
