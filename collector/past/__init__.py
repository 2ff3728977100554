"""What happened in a stretch of the past, from the journal, in a process of its own.

`asking` is the collector's side; `reading` (causes) and `pictures` are what the other process does.
"""
