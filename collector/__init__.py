"""The collector: telemetry in, incidents out, and everything that people ask of them.

`service.py` starts and stops it, and alone knows whether it is one collector or one of several;
`browsing.py` serves what was diagnosed of a dead job with the same answers and pages. Its folders
form layers, which the contracts in pyproject.toml list from top to bottom: a folder imports lower
ones only.

In: telemetry (`intake`). Out: incidents (`store`) and answers (`api`). Imports: alerts, checks,
dashboards, detectors, formats, settings, vocabulary.
"""
