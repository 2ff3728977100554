"""What the logs of ranks say of a job, before its launchers are asked."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class KnownRanks:
    """What the logs of ranks say: who is known, who logged a root or a cascade, who is silent."""

    size: int
    ranks: frozenset[int]
    roots: frozenset[int]
    cut: frozenset[int]
    silent: tuple[int, ...]
    faulted: bool
    """Whether any line points at a fault, whosever it is."""
    hung: bool
    """Whether a collective timed out: whoever is killed then was waited for, or waited."""
    stepped: bool
    """Whether any log has a step: a start that waits then is not the job's."""
    hosts: Mapping[int, str]
    kernels: frozenset[str] = frozenset()
    """Hosts that kernel logs name."""
    due: float | None = None
    """Until when a job at work would have written its next step, s since the epoch; None where
    nothing tells its pace."""
    listed: Mapping[int, tuple[float, int]] = field(default_factory=dict[int, tuple[float, int]])
    """When ranks ended by torchrun's table, and by which signal, 0 for none."""

    @property
    def fewer_silent(self) -> bool:
        """Whether some ranks say nothing, and no more than lost a peer."""
        return 0 < len(self.silent) <= len(self.cut)
