"""Cluster overview: is training going on, what is lost to which cause, which nodes are bad."""

from .dashboard import build

__all__ = ["build"]
