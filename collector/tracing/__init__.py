"""The collector observed by OpenTelemetry: one trace from a payload to its notice.

Nothing of it is loaded unless the standard OTEL_* variables name an exporter.

In: payloads, changes and deliveries on their way. Out: spans and metrics by OTLP. Imports: alerts;
intake, journal, store.
"""
