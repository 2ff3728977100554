"""Logs of training jobs: found by process or by name, read within a share of a CPU."""

from .following import Follower
from .lines import Batch, Launched
from .sources import Source, Sources

__all__ = ["Batch", "Follower", "Launched", "Source", "Sources"]
