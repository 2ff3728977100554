"""The collector over HTTP: the API, /metrics, health and the console's pages.

`app.create_app` puts it together from one file a resource (`routes/`). Telemetry is passed on to
`intake`; nothing here writes elsewhere.

In: requests. Out: answers from the store, the pipeline and what is summed up of them. Imports:
alerts, checks, dashboards, detectors, vocabulary; what stands below it.
"""
