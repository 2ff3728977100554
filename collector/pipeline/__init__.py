"""From batches and events to changes of incidents: windows, detectors, causes.

The same calls in the same order give the same incidents, to the byte: no thread, no clock, no I/O.

In: decoded batches and events with a time. Out: changes of incidents. Imports: alerts, detectors,
formats, vocabulary; settings, windows.
"""
