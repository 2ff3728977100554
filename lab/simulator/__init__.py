"""The cluster simulator: seeded recordings of training jobs, with and without a fault.

It models what a synchronous training job and its machines do, and what sensors would say about
it; it knows nothing of detectors. Time runs in seconds from the start of the recording until the
telemetry is written. Flow: scenario -> placement -> training (physics) -> series and events ->
lines of OTLP JSON, in order of arrival.

In: a scenario and a seed. Out: lines of OTLP JSON, and the truth about them. Imports: agent,
formats, vocabulary.
"""
