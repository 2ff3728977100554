"""The collector: telemetry in, incidents out. It composes what the other packages offer.

`service` starts it. `stages` puts together `intake` (HTTP to journal), `evaluation` (journal to
incidents) and `storing` (incidents to the store); `api` answers questions, `store` keeps incidents,
`replay` runs a recording through the same pipeline.
"""
