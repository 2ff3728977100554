"""What steps would take without a cause: its ranks replaced by their peers, or by what was before.

In: a window, a fault and the ranks at it. Out: the newest steps as they are and without the fault.
Imports: vocabulary; what stands below it.
"""
