"""What the collector derives, written into the site's own store; off by default.

In: incidents, goodput, findings and compute time at a moment. Out: remote write 1.0, kept until the
store has it. Imports: detectors, formats, vocabulary; accounting, health, pipeline, settings,
store.
"""
