"""What hosts tell: their kernels' logs, and pages of exporters; whose rank it concerns.

In: lines of kernels, saved pages. Out: events and samples of hosts and devices, by rank where that
is known. Imports: checks, formats, vocabulary; found, job, walk.
"""
