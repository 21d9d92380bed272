resource "google_billing_budget" "this" {
  count = var.budget == null ? 0 : 1

  billing_account = var.budget.billing_account
  display_name    = local.name

  budget_filter {
    projects = ["projects/${google_storage_bucket.cache.project_number}"]
  }

  amount {
    specified_amount {
      units = tostring(var.budget.amount)
    }
  }

  dynamic "threshold_rules" {
    for_each = [0.5, 0.9, 1]
    content {
      threshold_percent = threshold_rules.value
    }
  }
  threshold_rules {
    threshold_percent = 1
    spend_basis       = "FORECASTED_SPEND"
  }

  all_updates_rule {
    monitoring_notification_channels = module.observability.channels
    disable_default_iam_recipients   = false
  }

  depends_on = [google_project_service.this]
}
