"""What jobs use and what incidents cost: summaries, GPU time, goodput, /metrics.

The API, other collectors and long-term stores are given the same figures.

In: summaries of jobs from the pipeline, rows of costs from the store. Out: totals by job, user,
fault and week, and the families that are exported. Imports: vocabulary; figures, pipeline,
settings, store, windows.
"""
