"""Telemetry as OTLP JSON lines: read back in order, or cut out of the journal.

In: files of lines, or a journal and an incident. Out: lines with the time it is at each of them, or
one incident's telemetry with its names replaced. Imports: formats, vocabulary; intake, journal.
"""
