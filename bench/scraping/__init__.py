"""Simulated clusters as a scraper reads them: with its intervals, its gaps, its restarts.

`scrapes` turns a recording into scrapes, `quiet` runs healthy hours of them through the pipeline
and counts what is reported that should not be: `python -m bench.scraping`.
"""
