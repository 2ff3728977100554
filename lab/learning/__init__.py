"""Learns the weights and the calibration of the catalogue of causes from the laboratory's suites.

evaluations: what the incident tracker was given in a case, kept so that causes can be ranked again
with other weights without the detectors.
"""
