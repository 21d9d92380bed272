mock_provider "google" {
  mock_resource "google_service_account" {
    defaults = { member = "serviceAccount:somebody@test-project.iam.gserviceaccount.com" }
  }
}
mock_provider "google-beta" {
  mock_resource "google_api_gateway_gateway" {
    defaults = { default_hostname = "am-test-abc.uc.gateway.dev" }
  }
}

variables {
  project_id             = "test-project"
  environment            = "test"
  protected              = false
  point_in_time_recovery = false
  secret_values          = { JWT_SECRET = "0123456789012345678901234567890123456789" }
  routes                 = [{ path = "/mcp", methods = ["POST"], function = "mcp" }, { path = "/health", methods = ["GET"], function = "health" }]
  packages = {
    mcp         = { file = "mcp.zip", object = "functions/mcp/1.zip", entry_point = "mcp", runtime = "python311" }
    memories    = { file = "memories.zip", object = "functions/memories/1.zip", entry_point = "memories", runtime = "python311" }
    keys        = { file = "keys.zip", object = "functions/keys/1.zip", entry_point = "keys", runtime = "python311" }
    space_token = { file = "space_token.zip", object = "functions/space_token/1.zip", entry_point = "space_token", runtime = "python311" }
    health      = { file = "health.zip", object = "functions/health/1.zip", entry_point = "health", runtime = "python311" }
    maintenance = { file = "maintenance.zip", object = "functions/maintenance/1.zip", entry_point = "maintenance", runtime = "python311" }
  }
}

run "applies_with_the_defaults" {
  command = apply

  assert {
    condition     = output.base_url == "https://am-test-abc.uc.gateway.dev"
    error_message = "base_url: ${output.base_url}"
  }
  assert {
    condition     = length(google_billing_budget.this) == 0
    error_message = "there is no budget unless one is given"
  }
}

run "a_quota_changes_by_a_variable" {
  command = plan

  variables {
    tiers = {
      explorer = { monthly_ops = 10, agents = 1, spaces = 0, a_star = false, hard_limit = true }
    }
  }

  assert {
    condition     = jsondecode(local.settings.AM_TIERS).explorer.monthly_ops == 10 && keys(jsondecode(local.settings.AM_TIERS)) == ["explorer"]
    error_message = "AM_TIERS: ${local.settings.AM_TIERS}"
  }
}

run "tiers_need_explorer" {
  command = plan

  variables {
    tiers        = { pro = { a_star = true, hard_limit = false } }
    signup_tiers = []
  }

  expect_failures = [var.tiers]
}

run "limits_are_whole_numbers" {
  command = plan

  variables {
    tiers = { explorer = { monthly_ops = 0.5, a_star = false, hard_limit = true } }
  }

  expect_failures = [var.tiers]
}

run "a_hard_limit_needs_a_limit" {
  command = plan

  variables {
    tiers = { explorer = { a_star = false, hard_limit = true } }
  }

  expect_failures = [var.tiers]
}

run "sign_up_only_offers_known_tiers" {
  command = plan

  variables {
    signup_tiers = ["gold"]
  }

  expect_failures = [var.signup_tiers]
}

run "openai_brings_its_key_along" {
  command = plan

  variables {
    embedder        = "openai"
    secret_versions = { JWT_SECRET = 1, AM_KEY_PEPPER = 1, AM_ADMIN_TOKEN = 1, OPENAI_API_KEY = 1 }
  }

  assert {
    condition     = [for name, function in local.functions : name if contains(function.secrets, "OPENAI_API_KEY")] == ["mcp", "memories"]
    error_message = "only functions that embed get the key"
  }
}

run "openai_needs_its_key" {
  command = plan

  variables {
    embedder = "openai"
  }

  expect_failures = [var.secret_versions]
}

run "a_budget_is_an_alarm_at_half_nine_tenths_and_all" {
  command = plan

  variables {
    budget       = { billing_account = "000000-000000-000000", amount = 50 }
    alert_emails = ["a@example.com"]
  }

  assert {
    condition     = google_billing_budget.this[0].amount[0].specified_amount[0].units == "50"
    error_message = "the amount is in whole units of the account's currency"
  }
  assert {
    condition     = contains(keys(google_project_service.this), "billingbudgets")
    error_message = "a budget needs its service"
  }
}

run "a_load_balancer_needs_no_gateway_service" {
  command = plan

  variables {
    edge   = "load_balancer"
    domain = "memory.example.com"
  }

  assert {
    condition     = contains(keys(google_project_service.this), "compute") && !contains(keys(google_project_service.this), "apigateway")
    error_message = "services: ${join(" ", keys(google_project_service.this))}"
  }
}
