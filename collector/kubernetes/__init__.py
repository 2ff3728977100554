"""Node conditions and events for what a first cause names; off by default.

In flow changes of incidents, out two kinds of writes to a Kubernetes API server. It may import
`store` and `settings`.
"""
