variable "project_id" {
  description = "Project of this environment."
  type        = string
}

variable "region" {
  description = "Region of everything."
  type        = string
  default     = "us-central1"
}

variable "secret_values" {
  description = "Environment variable → value, for the secrets whose number in `secret_versions` is new."
  type        = map(string)
  default     = {}
  ephemeral   = true
  sensitive   = true
}

variable "alert_emails" {
  description = "Who is told when an alert fires."
  type        = set(string)
  default     = []
}

variable "budget" {
  description = "Monthly amount at which alarms go out, and the billing account it concerns; null for none."
  type = object({
    billing_account = string
    amount          = number
  })
  default = null
}
