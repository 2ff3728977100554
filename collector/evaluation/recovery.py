"""How evaluation comes back after a restart: from a snapshot, else by reading more again."""

from collections.abc import Callable
from dataclasses import dataclass, field

from ..journal.interface import Offset
from .rereading import Rereading
from .snapshot_timer import SNAPSHOT_SECONDS
from .snapshots import Snapshots


@dataclass(frozen=True, slots=True)
class Recovery:
    """Where snapshots are kept (None: nowhere) and how often, and what is read again without one.

    `recovered` gets the offset that a restart came to.
    """

    snapshots: Snapshots | None = None
    rereading: Rereading = field(default_factory=Rereading)
    snapshot_seconds: float = SNAPSHOT_SECONDS
    recovered: Callable[[Offset | None], None] = lambda _offset: None
