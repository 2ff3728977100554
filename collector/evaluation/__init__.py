"""The thread that applies the journal to a pipeline, and comes back after a restart.

In flow entries of the journal, through the tail where they are in memory; out changes for the store
and snapshots of the state. `schedule.py` is the order of applying and evaluating, live and in
replay. It may import `intake`, `journal`, `store`, `health` and `settings`; the pipeline is given.
"""
