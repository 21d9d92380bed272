variable "project_id" {
  description = "Project of this environment; one project holds one environment."
  type        = string
}

variable "region" {
  description = "Region of the functions, the database and the buckets."
  type        = string
  default     = "us-central1"
}

variable "environment" {
  description = "Name of the environment."
  type        = string

  validation {
    condition     = can(regex("^[a-z]{3,8}$", var.environment))
    error_message = "The name is 3 to 8 lower-case letters, because names of service accounts contain it."
  }
}

variable "packages" {
  description = "Function → its zip file, the name of the Python function and the runtime: what `make package` writes into dist/manifest.json."
  type = map(object({
    file        = string
    object      = string
    entry_point = string
    runtime     = string
  }))
}

variable "routes" {
  description = "What infra/routes.json holds."
  type = list(object({
    path     = string
    methods  = list(string)
    function = string
  }))
}

variable "protected" {
  description = "Whether the data survives a careless `terraform destroy`."
  type        = bool
}

variable "point_in_time_recovery" {
  description = "Whether the database keeps every version of the last seven days."
  type        = bool
}

variable "daily_backup_days" {
  description = "How many days daily backups are kept; null for none."
  type        = number
  default     = null
}

variable "tiers" {
  description = "What an account of each tier may do; null means without limit. `agents` and `spaces` count per account; `hard_limit` refuses calls beyond `monthly_ops` instead of counting them as overage."
  nullable    = false
  type = map(object({
    monthly_ops = optional(number)
    agents      = optional(number)
    spaces      = optional(number)
    a_star      = bool
    hard_limit  = bool
  }))
  default = {
    explorer   = { monthly_ops = 50000, agents = 3, spaces = 0, a_star = false, hard_limit = true }
    builder    = { monthly_ops = 500000, agents = 25, spaces = 3, a_star = true, hard_limit = false }
    pro        = { monthly_ops = 5000000, a_star = true, hard_limit = false }
    enterprise = { a_star = true, hard_limit = false }
  }

  validation {
    condition     = contains(keys(var.tiers), "explorer")
    error_message = "The tier explorer must exist: it is what sign-up offers."
  }
  validation {
    condition = alltrue(flatten([
      for tier in var.tiers : [
        for limit in [tier.monthly_ops, tier.agents, tier.spaces] : limit == null ? true : limit >= 0 && floor(limit) == limit
      ]
    ]))
    error_message = "Limits are whole numbers from 0."
  }
  validation {
    condition     = alltrue([for tier in var.tiers : !tier.hard_limit || tier.monthly_ops != null])
    error_message = "A hard limit needs monthly_ops."
  }
}

variable "signup_tiers" {
  description = "Tiers that anybody may sign up for."
  type        = list(string)
  default     = ["explorer"]

  validation {
    condition     = alltrue([for tier in var.signup_tiers : contains(keys(var.tiers), tier)])
    error_message = "signup_tiers names a tier that is not in tiers."
  }
}

variable "signup_per_hour" {
  description = "Sign-ups that a client address may make in an hour; 0 for no limit."
  type        = number
  default     = 20
}

variable "embedder" {
  description = "What turns texts into vectors."
  type        = string
  default     = "static"

  validation {
    condition     = contains(["static", "openai", "vertex", "none"], var.embedder)
    error_message = "The embedder is static, openai, vertex or none."
  }
}

variable "fusion" {
  description = "How the two legs of a search are joined."
  type        = string
  default     = "weighted"

  validation {
    condition     = contains(["weighted", "rrf"], var.fusion)
    error_message = "The fusion is weighted or rrf."
  }
}

variable "allowed_origins" {
  description = "Web origins whose pages may call."
  type        = list(string)
  default     = []
}

variable "log_level" {
  description = "Lines less severe than this are not logged."
  type        = string
  default     = "INFO"

  validation {
    condition     = contains(["DEBUG", "INFO", "WARNING", "ERROR"], var.log_level)
    error_message = "The log level is DEBUG, INFO, WARNING or ERROR."
  }
}

variable "instances" {
  description = "Function → how many instances are kept warm and how many there may be, where that differs from the default."
  type = map(object({
    min = optional(number)
    max = optional(number)
  }))
  default = {}
}

variable "edge" {
  description = "What gives all functions one base URL: gateway, load_balancer or none."
  type        = string
  default     = "gateway"
}

variable "domain" {
  description = "Domain of the load balancer."
  type        = string
  default     = null
}

variable "secret_versions" {
  description = "Environment variable of each secret → a number that is raised to store a new value."
  type        = map(number)
  default     = { JWT_SECRET = 1, AM_KEY_PEPPER = 1, AM_ADMIN_TOKEN = 1 }

  validation {
    condition     = alltrue([for name in ["JWT_SECRET", "AM_KEY_PEPPER", "AM_ADMIN_TOKEN"] : contains(keys(var.secret_versions), name)])
    error_message = "JWT_SECRET, AM_KEY_PEPPER and AM_ADMIN_TOKEN are needed."
  }
  validation {
    condition     = contains(keys(var.secret_versions), "OPENAI_API_KEY") == (var.embedder == "openai")
    error_message = "OPENAI_API_KEY belongs to the embedder openai, and to no other."
  }
}

variable "secret_values" {
  description = "Environment variable → value, for the secrets whose number is new."
  type        = map(string)
  ephemeral   = true
  sensitive   = true
}

variable "alert_emails" {
  description = "Who is told when an alert fires or the budget is used up."
  type        = set(string)
  default     = []
}

variable "budget" {
  description = "Monthly amount in the billing account's currency at which alarms go out; null for none."
  type = object({
    billing_account = string
    amount          = number
  })
  default = null
}
