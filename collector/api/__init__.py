"""The collector over HTTP: the API, /metrics, health and the console's pages.

In flow requests, out answers from the store, the pipeline and what is summed up of them; telemetry
is passed to `intake`. `app.create_app` puts it together from one file a resource (`routes/`). It
may import what lies below it in the layers, and nothing that writes elsewhere.
"""
