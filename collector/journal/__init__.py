"""Every accepted payload with its receive time, on disk before it is acknowledged.

What people do is an entry like any other (`actions.py`).

In: entries in the order of their receive times. Out: the same entries from any offset on. Imports:
alerts, formats; settings.
"""
