"""Telemetry as OTLP JSON lines: read back in order, or cut out of the journal.

In flow files of lines, or a journal and an incident; out lines with the time it is at each of them,
or one incident's telemetry with its names replaced. It may import `intake` and `journal`.
"""
