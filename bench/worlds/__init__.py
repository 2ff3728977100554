"""Simulated clusters, written from the contract alone, on which the answers of replays are scored.

In: the tables beside and a seed. Out: a folder of cases with their truth, and how right the
incidents of `rankscope replay` are. Nothing here reads detectors, causes or the laboratory.
"""
