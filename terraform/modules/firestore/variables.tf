variable "project_id" {
  description = "Project of the database."
  type        = string
}

variable "location" {
  description = "Region of the database. It cannot be changed later."
  type        = string
}

variable "database" {
  description = "Name of the database. Only `(default)` has a free quota."
  type        = string
  default     = "(default)"
}

variable "collections" {
  description = "Collection name → its queried fields and the timestamp after which documents may be deleted."
  type = map(object({
    indexed  = list(string)
    expiring = optional(string)
  }))

  validation {
    condition     = alltrue([for collection in var.collections : !contains(collection.indexed, coalesce(collection.expiring, "*"))])
    error_message = "A time-to-live field rises with time and must not be indexed."
  }
}

variable "protected" {
  description = "Whether deletion needs two deliberate steps."
  type        = bool
}

variable "point_in_time_recovery" {
  description = "Whether every version of the last seven days can be read and restored; doubles the price of storage."
  type        = bool
}

variable "daily_backup_days" {
  description = "How many days a daily backup is kept; null for no backups."
  type        = number
  default     = null

  validation {
    condition     = var.daily_backup_days == null ? true : var.daily_backup_days >= 1 && var.daily_backup_days <= 98
    error_message = "Backups are kept from 1 to 98 days."
  }
}
