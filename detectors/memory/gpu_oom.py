"""Ranks that ended because an allocation on their device failed."""

import re
from collections.abc import Mapping, Sequence

import numpy as np

from ...vocabulary.findings import Finding
from ...vocabulary.samples import Scalar
from ..contract import Detector
from ..findings import report
from ..tenants import own_events
from ..window import JobWindow
from .fragmentation import RESERVED, RETRIES
from .gpu_leak import LIMIT, USAGE

_OOM = re.compile(
    r"(cuda|hip|npu|xpu|mlu|device|gpu)[\w: -]{0,40}out[ _]of[ _]memory|outofmemoryerror"
    r"|(cuda|hip|npu|gpu)_?oom|alloc_failed|tried to allocate",
    re.IGNORECASE,
)
"""What frameworks of several vendors write; the kernel's own "Out of memory" is another fault."""


def _failed(attributes: Mapping[str, Scalar]) -> bool:
    """Return whether a process ended with an error of its own, not by a signal."""
    code = attributes.get("exit_code")
    return isinstance(code, int) and 0 < code < 128


class GpuOom(Detector):
    """Name the ranks whose device ran out of memory.

    A log line of the rank that says so. Without one: the rank's process ended with an error, not by
    a signal, while the memory of its device was full or its allocator had retried in its last
    steps. Evidence for a crash: that the job stopped is another detector's finding.

    Parameters
    ----------
    full : share of the device's memory from which on it is full.

    Examples
    --------
    >>> from rankscope.detectors.sketch import START, sketch
    >>> from rankscope.vocabulary.samples import Event, Resource
    >>> line = Event("log.fault", START + 50, {"rank": 3, "role": "root", "text":
    ...     "CUDA out of memory. Tried to allocate 2.00 GiB"}, Resource("host-1", "example"))
    >>> for finding in GpuOom().evaluate(sketch(np.full((4, 60), 0.8), events=(line,))):
    ...     print(finding.kind, finding.entity, finding.score)
    rank.gpu_oom rank 3 on host-1 3.0

    Fails where no log is read and memory filled within one report's interval. Cannot see whether a
    leak or a larger batch filled it.

    References: facts on training signals, log signatures; facts on root causes 13.
    """

    name = "gpu_oom"
    kinds = ("rank.gpu_oom",)

    def __init__(self, *, full: float = 0.97) -> None:
        self.full = full

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return one finding a rank, of its first sign."""
        found: dict[int, Finding] = {}
        ended: dict[int, float] = {}
        for event in own_events(window):
            rank = event.attributes.get("rank")
            row = window.row_of(rank) if isinstance(rank, int) else None
            if row is None or row in found:
                continue
            if event.name == "log.fault":
                line = f"{event.attributes.get('signature', '')} {event.attributes.get('text', '')}"
                if _OOM.search(line):
                    found[row] = self._finding(
                        window, row, event.at, 3.0, "log.fault", line.strip()
                    )
            elif event.name == "process.exit" and _failed(event.attributes):
                ended.setdefault(row, event.at)
        for row, at in ended.items():
            if row not in found and (why := self._was_full(window, row, at)):
                found[row] = self._finding(window, row, at, 1.5, "process.exit", why)
        return [found[row] for row in sorted(found)]

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
