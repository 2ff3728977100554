"""Pure evaluation: matrices in, findings out. No I/O, no clock, no threads, no state.

In: a `JobWindow`: matrices of one job attempt. Out: findings. Imports: vocabulary.
"""
