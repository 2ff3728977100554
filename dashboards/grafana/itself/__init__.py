"""Rankscope itself: does the collector keep up, do agents report, do notices leave."""

from .dashboard import build

__all__ = ["build"]
