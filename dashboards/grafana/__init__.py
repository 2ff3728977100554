"""Dashboards and Prometheus rules as code. Nothing here yet: `rankscope dashboards` says so."""
