"""What happened in a stretch of the past, read from the journal by another process.

In flow a question about one job, out the ranked causes or a metric over time. `asking` is the
collector's side; `reading` (causes) and `pictures` are what the other process does. It may import
`evaluation`, `pipeline`, `figures`, `windows`, `intake`, `journal` and `settings`.
"""
