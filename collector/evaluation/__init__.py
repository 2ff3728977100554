"""Evaluation: a consumer of the journal that fills windows, runs detectors and tracks incidents.

`schedule` drives a pipeline through time, live and in replay. Live, `applying` feeds it entries,
`restart` comes back to where the last process was, and `consumer` is the thread around both;
`overload` skips seconds and records them; `snapshots` keeps the state for the next start.
"""
