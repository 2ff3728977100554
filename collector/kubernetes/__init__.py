"""Node conditions and events for what a first cause names; off by default.

In: changes of incidents. Out: two kinds of writes to a Kubernetes API server. Imports: alerts,
vocabulary; settings, store.
"""
