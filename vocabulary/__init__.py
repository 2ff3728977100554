"""The words every room shares: metrics, events, entities, faults, findings and incidents.

Standard library only: the probe reads these names inside other people's processes.
"""
