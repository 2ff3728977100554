"""From the lead of a first cause to how often it is right: the catalogue's curve, fitted to cases.

`evaluations` keeps what the incident tracker was given in a case, so that its causes can be ranked
again without the detectors.
"""
