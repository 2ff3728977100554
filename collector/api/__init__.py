"""The collector over HTTP: one route file a resource.

`app.create_app` puts it together.
"""
