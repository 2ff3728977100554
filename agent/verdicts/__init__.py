"""Verdicts: what is wrong with this node's devices, on what evidence, since when, and until when.

Every `gpu.fault` event of every reader passes through `Verdicts.take`: it leaves with class and
actions, a repeat is folded, and one fault told by two sources is one verdict and one event.
"""

from .keeping import Verdicts
from .store import ask_to_clear
from .verdict import Evidence, Verdict
from .writing import Writer

__all__ = ["Evidence", "Verdict", "Verdicts", "Writer", "ask_to_clear"]
