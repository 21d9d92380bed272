variable "project_id" {
  description = "Project that is observed."
  type        = string
}

variable "name" {
  description = "What the names of the functions and of these resources begin with."
  type        = string
}

variable "host" {
  description = "Host name whose /health is asked every five minutes."
  type        = string
}

variable "alert_emails" {
  description = "Who is told when an alert fires."
  type        = set(string)
}

variable "p95_milliseconds" {
  description = "The latency that 95 of 100 requests should stay under, cold starts included."
  type        = number
  default     = 2500
}
