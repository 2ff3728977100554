"""What people look at: the built-in console; later dashboards and rules for Grafana.

In: the names of the vocabulary, answers of the collector's API. Out: pages for browsers, files for
Grafana and Prometheus. Imports: vocabulary.
"""
