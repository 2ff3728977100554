"""Training lines that no table knows: a log's own lines say what they have in common.

In: lines of a job's output. Out: their values, once some lines bear each other out. Imports:
vocabulary; line_formats, named, numbers, values.
"""
