"""The collector observed by OpenTelemetry: one trace from a payload to the page it led to.

Off, and then nothing of it is loaded, unless the standard OTEL_* variables name an exporter.
"""
