"""Rankscope itself: does the collector keep up, do agents report, do notices leave.

In: panels, queries and links of this package. Out: one dashboard. Imports: frame, group_waits,
links, panels, queries, rules, tables.
"""

from .dashboard import build

__all__ = ["build"]
