"""Asking a Prometheus-compatible store for what its scrapes found, live and of the past.

Works with Prometheus, VictoriaMetrics, Thanos and Mimir: only `/api/v1/query` is asked, with range
selectors, so that samples come with the times at which they were scraped. What comes is written as
remote write and goes the way of everything else: journal, decoder, windows.
"""
