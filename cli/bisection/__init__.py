"""Parts of `rankscope bisect`: the script that recomputes a step, and what its results settle.

In: a job, a step, results of the script. Out: the script, a verdict. Imports: none.
"""
