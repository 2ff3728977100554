"""Where the time of a training went, as profilers print it: tables, and torch_xla's metrics.

In: lines of text. Out: shares of the time, and counts. Imports: nothing.
"""

MARKS = ("Self CPU %", "Mean duration (s)", "Metric: CompileTime")
"""One of these texts is in each."""
