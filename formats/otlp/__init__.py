"""OTLP metrics and logs, protobuf and JSON, both ways.

`encode` needs the standard library only, for the agent; `decode` fills numpy columns.
"""
