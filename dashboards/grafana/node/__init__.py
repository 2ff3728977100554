"""Node and GPU: one node, its accelerators whoever made them, and the host around them.

In: panels, queries and links of this package. Out: one dashboard. Imports: frame, group_waits,
links, panels, queries, rules, tables.
"""

from .dashboard import build

__all__ = ["build"]
