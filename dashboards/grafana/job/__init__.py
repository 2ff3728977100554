"""Job: how training goes, which rank is slow, where the time goes, who waits for whom."""

from .dashboard import build

__all__ = ["build"]
