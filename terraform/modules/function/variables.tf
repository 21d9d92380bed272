variable "project_id" {
  description = "Project of the function."
  type        = string
}

variable "region" {
  description = "Region of the function."
  type        = string
}

variable "name" {
  description = "Name of the function and of its service account."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{4,28}[a-z0-9]$", var.name))
    error_message = "The name must be 6 to 30 lower-case letters, digits and dashes, because a service account has it too."
  }
}

variable "package" {
  description = "Where the source lies, and the name of the Python function to serve."
  type = object({
    bucket      = string
    object      = string
    entry_point = string
    runtime     = string
  })
}

variable "build" {
  description = "Service account that builds the source (its full name) and the repository that keeps the image."
  type = object({
    service_account = string
    repository      = string
  })
}

variable "size" {
  description = "What an instance has, and how many there may be. `max_instances` is the guard of money and of the store."
  type = object({
    cpu             = string
    memory          = string
    concurrency     = number
    min_instances   = number
    max_instances   = number
    timeout_seconds = number
  })

  validation {
    condition     = tonumber(var.size.cpu) >= 1 || var.size.concurrency == 1
    error_message = "An instance with less than one CPU handles one request at a time: set concurrency to 1."
  }
  validation {
    condition     = var.size.min_instances <= var.size.max_instances
    error_message = "min_instances must not exceed max_instances."
  }
}

variable "environment" {
  description = "Environment variables."
  type        = map(string)
}

variable "secrets" {
  description = "Environment variable → secret and version."
  type = map(object({
    secret  = string
    version = string
  }))
}

variable "project_roles" {
  description = "Roles on the project → the IAM condition that narrows each, or null."
  type        = map(string)
}

variable "bucket_roles" {
  description = "Roles on buckets, by any name."
  type = map(object({
    bucket = string
    role   = string
  }))
}

variable "ingress" {
  description = "Where requests may come from."
  type        = string
}

variable "invokers" {
  description = "Who may call the function, by any name, as IAM members."
  type        = map(string)
}
