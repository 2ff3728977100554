"""Node and GPU: one node, its accelerators whoever made them, and the host around them."""

from .dashboard import build

__all__ = ["build"]
