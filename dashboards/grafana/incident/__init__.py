"""Incident: what broke, where, since when, and the evidence beside its peers.

In: panels, queries and links of this package. Out: one dashboard. Imports: frame, group_waits,
links, panels, queries, rules, tables.
"""

from .dashboard import build

__all__ = ["build"]
