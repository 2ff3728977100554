"""Active checks of a node: measured in bounded child processes, judged by what their like measure.

In: which checks, and values of others to compare with. Out: results with a verdict and its reason.
Imports: formats, vocabulary; what stands below it.
"""
