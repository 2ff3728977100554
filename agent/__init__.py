"""The node agent: what probes send and what the node shows, on `/metrics` and to the collector.

Light on purpose: no numpy, no pandas, no telemetry SDK in this process.

In: datagrams of probes, readings of the node, logs of jobs. Out: OTLP to the collector, the page of
`/metrics`. Imports: formats, settings, vocabulary.
"""
