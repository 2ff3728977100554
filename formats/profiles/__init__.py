"""Where the time of a training went, as profilers print it: torch's tables, torch_xla's metrics.

In: lines of text. Out: shares of the time, and counts. Imports: nothing.
"""

MARKS = ("Self CPU %", "Metric: CompileTime")
"""One of these texts is in each."""
