"""The collector's own metrics, and counting what goes wrong without stopping.

In flow counts and errors of every stage, out go the `rankscope_collector_*` families and a log line
for each new defect. It imports no other folder.
"""
