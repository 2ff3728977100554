"""The thread that applies the journal to a pipeline, and comes back after a restart.

`schedule.py` is the order of applying and evaluating, live and in replay. The pipeline is given.

In: entries of the journal, through the tail where they are in memory. Out: changes for the store,
and snapshots of the state. Imports: alerts, formats, vocabulary; health, intake, journal, process,
settings, store.
"""
