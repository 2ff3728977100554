"""PyTorch's Flight Recorder: what each rank's process noted of its collectives, from its dumps.

A dump is a pickle (what torch writes on a time-out, or when asked through its pipe) or JSON (what
its API returns). Versions 2.4 to 2.10 of the form are read.

In: dumps of one rank or of many. Out: collectives by rank: last enqueued, started, completed.
Imports: vocabulary; names.
"""

from .dumps import DumpError, RecorderDump, RecorderEntry, read
from .ledger import DumpLedger
from .members import settled

__all__ = ["DumpError", "DumpLedger", "RecorderDump", "RecorderEntry", "read", "settled"]
