"""Samples of a Prometheus-compatible store, live and of the past.

Prometheus, VictoriaMetrics, Thanos and Mimir all have `/api/v1/query`; range selectors keep the
times of scraping.

In: answers to queries. Out: remote write, which takes the way of everything else: journal, decoder,
windows. Imports: formats, vocabulary; health, intake, journal, recordings, settings.
"""
