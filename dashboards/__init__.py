"""What people look at: the built-in console, and dashboards and rules for Grafana and Prometheus."""
