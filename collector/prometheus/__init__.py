"""Samples of a Prometheus-compatible store, live and of the past.

In flow answers of `/api/v1/query`, which Prometheus, VictoriaMetrics, Thanos and Mimir all have;
range selectors keep the times of scraping. Out goes remote write, which takes the way of everything
else: journal, decoder, windows. It may import `intake`, `recordings`, `journal`, `health` and
`settings`.
"""
