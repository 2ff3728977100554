"""Evaluation: a consumer of the journal that fills windows, runs detectors and tracks incidents.

`schedule` drives a pipeline through time, live and in replay; `consumer` is the live thread around
it; `overload` skips seconds and records them; `snapshots` keeps the state for the next start.
"""
