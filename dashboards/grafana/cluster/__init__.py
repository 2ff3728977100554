"""Cluster overview: is training going on, what is lost to which cause, which nodes are bad.

In: panels, queries and links of this package. Out: one dashboard. Imports: frame, group_waits,
links, panels, queries, rules, tables.
"""

from .dashboard import build

__all__ = ["build"]
