"""The collector's own metrics, and counting what goes wrong without stopping.

In: counts and errors of every stage. Out: the `rankscope_collector_*` families, and a log line for
each new defect. Imports: formats, vocabulary.
"""
