"""What happened in a stretch of the past, read from the journal by another process.

`asking` is the collector's side; `reading` (causes) and `pictures` are what the other process does.

In: a question about one job. Out: the ranked causes, or a metric over time. Imports: detectors,
formats, vocabulary; evaluation, figures, intake, journal, pipeline, settings, windows.
"""
