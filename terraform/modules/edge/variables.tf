variable "project_id" {
  description = "Project of the edge."
  type        = string
}

variable "region" {
  description = "Region of the functions."
  type        = string
}

variable "name" {
  description = "What the names of the resources begin with."
  type        = string
}

variable "kind" {
  description = "`gateway`: API Gateway, nothing when idle. `load_balancer`: about $18 a month, own domain, no fee per call. `none`: each function by its own address."
  type        = string

  validation {
    condition     = contains(["gateway", "load_balancer", "none"], var.kind)
    error_message = "The edge is gateway, load_balancer or none."
  }
}

variable "domain" {
  description = "Domain of the load balancer; its A record must point to `address`."
  type        = string
  default     = null

  validation {
    condition     = var.kind != "load_balancer" || var.domain != null
    error_message = "A load balancer needs a domain for its certificate."
  }
}

variable "routes" {
  description = "Paths (`{name}` is one segment, a final `**` is the rest), their methods and the function that serves them."
  type = list(object({
    path     = string
    methods  = list(string)
    function = string
  }))

  validation {
    condition     = alltrue([for route in var.routes : can(regex("^(/[A-Za-z0-9._-]+|/\\{[a-z_]+\\})*(/|/\\*\\*)?$", route.path))])
    error_message = "A path consists of words, {names}, and possibly a final slash or **."
  }
}

variable "functions" {
  description = "Function → its name in the project and its address."
  type = map(object({
    name = string
    uri  = string
  }))
}

variable "default_function" {
  description = "The function that answers what no route names."
  type        = string
}

variable "deadline_seconds" {
  description = "How long the gateway waits for a function."
  type        = number
}
