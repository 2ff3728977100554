"""The collector observed by OpenTelemetry: one trace from a payload to its notice.

In flow payloads, changes and deliveries on their way, out spans and metrics by OTLP. Nothing of it
is loaded unless the standard OTEL_* variables name an exporter. It may import `intake`, `journal`
and `store`.
"""
