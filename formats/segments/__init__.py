"""The segment file that spool and journal share: records appended in order, read back in order.

Standard library only; zstd through cramjam where it is asked for. One writer a folder, held by a
lock. A record is kept once `sync` has returned. After a crash the last record may be cut off:
that is expected, reported to the reader and never an error; damage anywhere else is.

In: records as bytes. Out: the same records, in order, from files. Imports: none.
"""

from .format import LockedError, SegmentError, SegmentRecord
from .reading import Position, first_at_ns, last_at_ns, read, segments, size
from .retention import trim
from .rewriting import rewrite
from .writing import SegmentWriter

__all__ = [
    "LockedError",
    "Position",
    "SegmentError",
    "SegmentRecord",
    "SegmentWriter",
    "first_at_ns",
    "last_at_ns",
    "read",
    "rewrite",
    "segments",
    "size",
    "trim",
]
