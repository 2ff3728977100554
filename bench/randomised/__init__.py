"""What reporters and healthy hosts do anywhere, drawn over the cases of any generator.

A case is a folder as `python -m bench.worlds make` writes one. Its requests are changed on their
way to a collector: agents restart, exporters are slow, series vanish and return, requests come
twice or late, counters reset, memory grows at the start, caps move. Nothing of that is a fault.
"""
