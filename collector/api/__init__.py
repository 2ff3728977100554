"""The collector over HTTP: section 4 of the contract, one route file a resource.

`app.create_app` puts it together.
"""
