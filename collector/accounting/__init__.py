"""What jobs use and what incidents cost: summaries, GPU time, goodput, /metrics.

In flow summaries of jobs from the pipeline and rows of costs from the store, out totals by job,
user, fault and week, and the families that are exported; the API, other collectors and long-term
stores get the same. It may import `pipeline`, `windows`, `store` and `settings`.
"""
