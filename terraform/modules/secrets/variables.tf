variable "project_id" {
  description = "Project of the secrets."
  type        = string
}

variable "prefix" {
  description = "What the names of the secrets begin with."
  type        = string
}

variable "versions" {
  description = "Environment variable of each secret → a number that is raised to store a new value."
  type        = map(number)
}

variable "values" {
  description = "Environment variable → value, for the secrets whose number is new. Kept in neither plan nor state."
  type        = map(string)
  ephemeral   = true
  sensitive   = true

  validation {
    condition     = alltrue([for value in values(var.values) : length(value) >= 20])
    error_message = "A secret needs at least 20 characters; `openssl rand -base64 48` makes a good one."
  }
}
