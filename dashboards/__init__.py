"""What people look at: the built-in console; later dashboards and rules for Grafana."""
