terraform {
  required_version = ">= 1.11"

  required_providers {
    google = {
      source  = "hashicorp/google"
      version = "~> 8.7"
    }
    google-beta = { # API Gateway is in no other provider
      source  = "hashicorp/google-beta"
      version = "~> 8.7"
    }
  }
}
