"""Grafana dashboards, Prometheus rules and provisioning as code.

One file a dashboard; `panels`, `frame`, `queries` and `links` hold what they share. Nothing of
this runs in a collector: `rankscope dashboards build` writes files, and the repository holds them
in deploy/.

In: nothing but the code. Out: dashboards, rules and provisioning as text. Imports: none.
"""
