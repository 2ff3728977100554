"""Pictures of the Grafana dashboards without Grafana: panels by gridPos, filled from a Prometheus.

For people who change a dashboard and want to see whether it can be read. It draws what our panels
use and no more; Grafana draws them otherwise.
"""
