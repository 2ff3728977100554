"""Columns in, matrices out: what the collector remembers of every job and node."""

from .windows import Windows

__all__ = ["Windows"]
