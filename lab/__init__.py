"""The laboratory: real jobs with injected faults, the cluster simulator, recordings of both.

In: a fault, a seed, a place to run. Out: recordings, real jobs with a fault, figures. Imports:
agent, alerts, collector, dashboards, detectors, formats, probe, vocabulary.
"""
