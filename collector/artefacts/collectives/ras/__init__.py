"""Answers of NCCL's RAS service as telemetry.

In: files that are answers, and logs that hold some. Out: counts, absent and odd ranks. Imports:
formats, vocabulary; found.
"""

from .adding import nodes_of, read

__all__ = ["nodes_of", "read"]
