"""A recording or a journal through the pipeline once more, and two replays compared.

`now` comes from the recording; the pipeline is given.

In: entries or lines. Out: the final document of each incident. Imports: detectors, formats,
vocabulary; evaluation, intake, journal, recordings.
"""
