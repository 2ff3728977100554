"""Parts of `rankscope lab`: its arguments, and the action that asks a collector.

In: words of `rankscope lab` and `rankscope demo`. Out: calls of the laboratory, complaints about
the words. Imports: lab; asking, report.
"""
