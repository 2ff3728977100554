"""One incident over jobs that are evaluated apart: in partitions of one log.

Each partition tells one of them, the correlator, which roots its incidents blame (`Sharing`). The
first to blame a root keeps its incident; others that blame it are folded into that one: their jobs
become parts of it (`elsewhere`), and they page nobody. What is exchanged are `messages`, entries of
the partitions' logs, so that whoever reads the same entries comes to the same incidents. A single
collector is one partition, and its own correlator.

In: what partitions say of their incidents. Out: one incident over all of their jobs. Imports:
vocabulary; what stands below it.
"""
