"""Every accepted payload with its receive time, on disk before it is acknowledged.

In flow entries in the order of their receive times, out the same entries from any offset on; what
people do is an entry like any other (`actions.py`). It may import `settings`.
"""
