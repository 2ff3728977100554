"""PyTorch's Flight Recorder: what each rank's process noted of its collectives, from its dumps.

A dump is a pickle (what torch writes on a time-out, or when asked through its pipe) or JSON (what
its API returns). The form is that of facts on training signals 2.3, versions 2.4 to 2.10.
"""

from .dumps import Dump, DumpError, Entry, read
from .ledger import Ledger

__all__ = ["Dump", "DumpError", "Entry", "Ledger", "read"]
