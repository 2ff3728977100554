"""Incident: what broke, where, since when, and the evidence beside its peers."""

from .dashboard import build

__all__ = ["build"]
