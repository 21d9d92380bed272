variable "project_id" {
  description = "Project of the job."
  type        = string
}

variable "region" {
  description = "Region of the job."
  type        = string
}

variable "name" {
  description = "Name of the job."
  type        = string
}

variable "schedule" {
  description = "When the job runs, in cron's notation and UTC."
  type        = string
}

variable "uri" {
  description = "Address that is called by POST."
  type        = string
}

variable "deadline_seconds" {
  description = "How long one run may take."
  type        = number
}
