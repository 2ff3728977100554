"""One file a resource; each has `router(...)`, and `app.create_app` lists them.

In flow checked parameters, out the shapes of the API. A route may import what the API may.
"""
