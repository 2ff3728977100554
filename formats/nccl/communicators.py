"""What an answer of RAS says of communicators, in whichever form it was given."""

from collections.abc import Mapping
from dataclasses import dataclass, field

MOST_RANKS = 1_000_000


class RasError(ValueError):
    """What is no answer of RAS; its text says why."""


@dataclass(frozen=True, slots=True)
class RankPlace:
    """Where a rank runs, as NCCL knows it: an address or a name, a process, a device's NVML index.

    `cuda` is the index of the device in the process, which CUDA_VISIBLE_DEVICES may shift.
    """

    host: str
    pid: int
    device: int | None
    cuda: int | None = field(default=None, compare=False)


@dataclass(slots=True)
class RasCommunicator:
    """One communicator. Ranks are those in the communicator, not in the job.

    launched: how many collectives each rank launched, of the kinds that differ where only these are
    told; kinds: the same by kind. missing: ranks that did not answer; dead: those among them that
    NCCL gave up. left: ranks that answered and are no members, any more or yet. errors: what NCCL
    reports of a rank's communicator. unnamed: what differs where no rank is named; spread: by how
    many at most.
    """

    name: str
    size: int
    launched: dict[int, int] = field(default_factory=dict)
    kinds: dict[int, dict[str, int]] = field(default_factory=dict)
    places: dict[int, RankPlace] = field(default_factory=dict)
    missing: set[int] = field(default_factory=set)
    dead: set[int] = field(default_factory=set)
    left: set[int] = field(default_factory=set)
    errors: dict[int, str] = field(default_factory=dict)
    unnamed: list[str] = field(default_factory=list)
    spread: int = 0

    @property
    def lag(self) -> int:
        """Return by how many collectives the last rank is behind the first, 0 where none is."""
        counts = self.launched.values()
        return max(counts) - min(counts) if counts else 0

    def by_process(self) -> Mapping[tuple[str, int, int | None], int]:
        """Return the rank of each process and device, as far as they are told."""
        return {(one.host, one.pid, one.device): rank for rank, one in self.places.items()}


@dataclass(slots=True)
class RasStatus:
    """One answer. `line` is where it begins in what it stands in, from 0.

    `stamp`: when it was given, as it says itself, in the time of its machine; "" where it does not.
    communicators: those of which something is told by rank: the text form tells nothing of the
    others. sizes: how many ranks each communicator of the summary has, with what is wrong with it.
    missing, dead: processes that did not answer, and those that NCCL gave up. nodes, devices: how
    many the job has, 0 where that is not told. whole: it was read to its end.
    """

    line: int = 0
    stamp: str = ""
    communicators: list[RasCommunicator] = field(default_factory=list)
    sizes: list[tuple[int, str]] = field(default_factory=list)
    missing: list[RankPlace] = field(default_factory=list)
    dead: list[RankPlace] = field(default_factory=list)
    nodes: int = 0
    devices: int = 0
    whole: bool = False

    @property
    def answered(self) -> bool:
        """Tell whether every process of the job answered."""
        return not (
            self.missing
            or self.dead
            or any("INCOMPLETE" in status for _, status in self.sizes)
            or any(one.missing for one in self.communicators)
        )
