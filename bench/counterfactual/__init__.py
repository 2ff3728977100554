"""Steps without a cause, as incidents say, held against what jobs do without it.

`worlds` simulates each case twice from one seed, with the fault and without it. `real` runs small
torch jobs over gloo in which the fault ends while the job goes on. Only tests import it.
"""
