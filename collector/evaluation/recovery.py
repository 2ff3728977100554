"""How evaluation comes back after a restart: from a snapshot, else by reading more again."""

from collections.abc import Callable
from dataclasses import dataclass, field

from ..journal.interface import Offset
from .rereading import RereadPlan
from .snapshot_timer import SNAPSHOT_SECONDS
from .snapshots import SnapshotFile


@dataclass(frozen=True, slots=True)
class RecoveryPlan:
    """Where snapshots are kept (None: nowhere) and how often, and what is read again without one.

    `recovered` gets the offset that a restart came to.
    """

    snapshots: SnapshotFile | None = None
    rereading: RereadPlan = field(default_factory=RereadPlan)
    snapshot_seconds: float = SNAPSHOT_SECONDS
    recovered: Callable[[Offset | None], None] = lambda _offset: None
