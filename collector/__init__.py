"""The collector: telemetry in, incidents out. It composes what the other packages offer.

`service` starts it, `engine` owns journal and pipeline in one thread, `intake` and `api` speak
HTTP, `store` remembers incidents, `replay` runs a recording through the same pipeline.
"""
