"""One file a resource; each has `router(...)`, and `app.create_app` lists them.

Each has `router(...)`.

In: checked parameters. Out: the shapes of the API. Imports: alerts, checks, dashboards, detectors,
vocabulary; what stands below it.
"""
