"""The words every package shares: metrics, events, entities, faults, findings and incidents.

Standard library only: the probe reads these names inside other people's processes.

In: TOML tables that lie beside the code. Out: names, ids and records, the same everywhere. Imports:
none.
"""
