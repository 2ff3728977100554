"""Collectives and network: what ranks wait for, how fast collectives are, which port is sick."""

from .dashboard import build

__all__ = ["build"]
