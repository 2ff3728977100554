"""OTLP metrics and logs, protobuf and JSON, both ways.

`encode` needs the standard library only, for the agent; `decode` fills numpy columns.

In: OTLP requests, or samples and events. Out: columns and log records, or OTLP requests. Imports:
vocabulary; names, wire.
"""
