"""Ranks that ended because an allocation on their device failed."""

import re
from collections.abc import Mapping, Sequence

import numpy as np

from ...vocabulary.findings import Finding
from ...vocabulary.samples import Scalar
from ..contract import Detector
from ..findings import report
from ..tenants import logged, own_events, says
from ..window import JobWindow
from .fragmentation import RESERVED, RETRIES
from .gpu_leak import LIMIT, USAGE

_OOM = re.compile(
    r"^gpu\.out_of_memory\b|(cuda|hip|npu|xpu|mlu|device|gpu)[\w: -]{0,40}out[ _]of[ _]memory"
    r"|outofmemoryerror|(cuda|hip|npu|gpu)_?oom|alloc_failed|tried to allocate",
    re.IGNORECASE,
)
"""What frameworks of several vendors write; the kernel's own "Out of memory" is another fault."""

_OF_HOSTS = re.compile(
    r"srun: error|slurmstepd|oom[-_. ]?kill|killed process|cgroup out[ -]of[ -]memory|memory limit"
    r"|node running low on memory|task_out_of_memory|cpuallocator|alloc_cpu",
    re.IGNORECASE,
)
"""What launchers and kernels write of a host's memory: its name may be `gpu31`."""


_AMOUNT = r"(\d{1,12}(?:\.\d{0,12})?) ?([KMGT]?)i?B"
_SHARES = re.compile(
    rf"{_AMOUNT} is allocated by PyTorch,? and {_AMOUNT} is reserved",
    re.IGNORECASE,
)
"""What PyTorch's message says of its own memory: allocated, and reserved but not allocated."""

_POWERS = " KMGT"


def _unallocated(line: str) -> float | None:
    """Return the share of the allocator's memory that a message says nobody could use."""
    found = _SHARES.search(line)
    if found is None:
        return None
    held, loose = (
        float(value) * 1024.0 ** _POWERS.index(unit.upper() or " ")
        for value, unit in ((found[1], found[2]), (found[3], found[4]))
    )
    return loose / (held + loose) if held + loose > 0 else None


def _failed(attributes: Mapping[str, Scalar]) -> bool:
    """Return whether a process ended with an error of its own, not by a signal."""
    code = attributes.get("exit_code")
    return isinstance(code, int) and 0 < code < 128


class GpuOomDetector(Detector):
    """Name the ranks whose device ran out of memory.

    A log line of the rank that says so; PyTorch's says also how much the allocator held that nobody
    used: `torn` of it is fragmentation, less than `whole` is not. Without a line: the rank's
    process ended with an error, not by a signal, while the memory of its device was full or its
    allocator had retried in its last steps. Evidence for a crash: that the job stopped is another
    detector's finding.

    Parameters
    ----------
    full : share of the device's memory from which on it is full.
    torn, whole : shares of the allocator's memory that are reserved and not allocated.

    Examples
    --------
    >>> from rankscope.detectors.sketch import START, sketch
    >>> from rankscope.vocabulary.samples import Event, TelemetryResource
    >>> line = Event("log.fault", START + 50, {"rank": 3, "role": "root", "text":
    ...     "CUDA out of memory. Tried to allocate 2.00 GiB"},
    ...     TelemetryResource("host-1", "example"))
    >>> for finding in GpuOomDetector().evaluate(sketch(np.full((4, 60), 0.8), events=(line,))):
    ...     print(finding.kind, finding.entity, finding.score)
    rank.gpu_oom rank 3 on host-1 3.0

    Fails where no log is read and memory filled within one report's interval. Cannot see whether a
    leak or a larger batch filled it.

    Reference: texts of torch's OutOfMemoryError, as log signatures hold them.
    """

    name = "gpu_oom"
    kinds = ("rank.gpu_oom", "rank.oom_fragmented", "rank.oom_allocated")

    def __init__(self, *, full: float = 0.97, torn: float = 0.2, whole: float = 0.15) -> None:
        self.full = full
        self.torn = torn
        self.whole = whole

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return one finding a rank, of its first sign, and what its message says of the reason."""
        found: dict[int, Finding] = {}
        shares: list[Finding] = []
        ended: dict[int, float] = {}
        for event in own_events(window):
            if event.name not in ("log.fault", "process.exit"):
                continue
            row = window.row_of_event(event)
            if row is None or row in found:
                continue
            if event.name == "log.fault":
                if says(window, event, _OOM) and not says(window, event, _OF_HOSTS):
                    line = logged(event)
                    found[row] = self._finding(
                        window, row, event.at, 3.0, "log.fault", line.strip()
                    )
                    shares += self._shares(window, row, event.at, line)
            elif event.name == "process.exit" and _failed(event.attributes):
                ended.setdefault(row, event.at)
        for row, at in ended.items():
            if row not in found and (why := self._was_full(window, row, at)):
                found[row] = self._finding(window, row, at, 1.5, "process.exit", why)
        return [*(found[row] for row in sorted(found)), *shares]

    def _shares(self, window: JobWindow, row: int, at: float, line: str) -> list[Finding]:
        """Return what a message says about how much of the memory was in pieces."""
        share = _unallocated(line)
        if share is None or self.whole <= share < self.torn:
            return []
        return [
            report(
                window,
                self.name,
                "rank.oom_fragmented" if share >= self.torn else "rank.oom_allocated",
                window.rank_entity(row),
                onset=at,
                seen=(at, at),
                magnitude=share,
                score=3.0,
                signal="log.fault",
                observed=share,
                expected=self.whole,
                text=f"rank {int(window.ranks[row])} ended with {share:.0%} of its allocator's "
                "memory reserved and not allocated",
            )
        ]

    def _was_full(self, window: JobWindow, row: int, at: float) -> str:
        """Return a sign that the device's memory was full when a process ended, "" for none."""
        one = np.array([row])
        limit = float(window.of_ranks(LIMIT).of(one).latest()[0][0])
        usage = float(window.of_ranks(USAGE).of(one).mean(at - 15.0, at)[0])
        steps = window.steps.last(5)
        reserved = steps.plane(RESERVED)[row]
        reserved = reserved[np.isfinite(reserved)]
        held = max(usage if np.isfinite(usage) else 0.0, float(reserved.max(initial=0.0)))
        if limit > 0 and held >= self.full * limit:
            return f"ended while {held / limit:.0%} of its device's memory was in use"
        retries = steps.plane(RETRIES)[row]
        retries = retries[np.isfinite(retries)]
        if len(retries) > 1 and retries[-1] > retries[0]:
            return "ended after its allocator had retried"
        return ""

    def _finding(
        self, window: JobWindow, row: int, at: float, score: float, signal: str, why: str
    ) -> Finding:
        return report(
            window,
            self.name,
            "rank.gpu_oom",
            window.rank_entity(row),
            onset=at,
            seen=(at, at),
            score=score,
            signal=signal,
            observed=why[:200],
            text=f"rank {int(window.ranks[row])}: {why[:200]}",
        )
