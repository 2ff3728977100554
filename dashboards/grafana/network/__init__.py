"""Collectives and network: what ranks wait for, how fast collectives are, which port is sick.

In: panels, queries and links of this package. Out: one dashboard. Imports: frame, group_waits,
links, panels, queries, rules, tables.
"""

from .dashboard import build

__all__ = ["build"]
