"""A recording or a journal through the pipeline once more, and two replays compared.

In flow entries or lines, `now` coming from the recording, out the final document of each incident.
It may import `evaluation`, `recordings`, `intake` and `journal`; the pipeline is given.
"""
