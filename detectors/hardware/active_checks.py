"""Results of active checks on hosts of the job: what is slow or failed there, and what passed."""

import re
from collections.abc import Sequence

from ...vocabulary import checks
from ...vocabulary.checks import EVENT
from ...vocabulary.entities import Entity
from ...vocabulary.findings import Finding
from ...vocabulary.samples import Event
from ..contract import Detector
from ..findings import report_event
from ..window import JobWindow

_LONGEST = 200
_NUMBERED = re.compile(r"(GPU|rank) (\d{1,7})")
"""A device as other tools name it: by its number, which is the local rank of who runs on it, or by
the rank."""


class ActiveChecksDetector(Detector):
    """Report the newest result of each check of each device of the job's hosts.

    By the verdict of `check.result`, measured here or read of another tool's report: slow and
    failed are bad, pass is passed; what was not measured says nothing. A result counts for
    `seconds`, from before the attempt began too: a device is as it was then. Evidence alone: a
    check says how a node is when nobody uses it, and what that means for causes stands in
    vocabulary/checks.

    Parameters
    ----------
    seconds : how long a result counts.

    Examples
    --------
    >>> import numpy as np
    >>> from rankscope.detectors.sketch import START, sketch
    >>> from rankscope.vocabulary.samples import Event, TelemetryResource
    >>> said = {"check": "matmul", "device": "GPU-2", "verdict": "slow", "value": 5.2e14,
    ...         "reason": "12% below 590 TFLOP/s"}
    >>> event = Event("check.result", START + 50, said, TelemetryResource("host-1"))
    >>> window = sketch(np.full((4, 60), 0.8), events=(event,))
    >>> [finding.text for finding in ActiveChecksDetector().evaluate(window)]
    ['check matmul of GPU-2 on host-1: slow: 12% below 590 TFLOP/s']

    Fails where a host is called otherwise by the check than by its agent (`--host`), where a fault
    shows only under the load of the job, and where another tool numbers devices otherwise than the
    job its local ranks (CUDA_VISIBLE_DEVICES).

    References: docs/checks.md; SuperBench (ATC'24) for validation against a node's like.
    """

    name = "active_checks"
    kinds = ("host.check_bad", "host.check_passed")
    cadence_seconds = 2.0

    def __init__(self, *, seconds: float = 1800.0) -> None:
        self.seconds = seconds

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return one finding a check and device, of its newest result."""
        newest: dict[tuple[str, str, str], Event] = {}
        for event in window.named(EVENT):
            host = event.resource.host
            if host not in window.hosts or event.at < window.now - self.seconds:
                continue
            check, device = (str(event.attributes.get(name, "")) for name in ("check", "device"))
            verdict = event.attributes.get("verdict")
            held = newest.get((host, device, check))
            if verdict != "not_measured" and (held is None or held.at <= event.at):
                newest[host, device, check] = event
        return [
            self._finding(window, event, entity, device, check)
            for (_, device, check), event in sorted(newest.items(), key=lambda item: item[0])
            if (entity := _entity(window, event, device)) is not None
        ]

    def _finding(
        self, window: JobWindow, event: Event, entity: Entity, device: str, check: str
    ) -> Finding:
        host = event.resource.host
        verdict = str(event.attributes.get("verdict", ""))
        reason = str(event.attributes.get("reason", ""))[:_LONGEST]
        value = event.attributes.get("value")
        return report_event(
            window,
            self.name,
            "host.check_passed" if verdict == "pass" else "host.check_bad",
            entity,
            event,
            observed=float(value) if isinstance(value, int | float) else verdict,
            text=checks.finding_text(check, device, host, verdict, reason),
        )


def _entity(window: JobWindow, event: Event, device: str) -> Entity | None:
    """Return the accelerator that a result is of, else its host.

    None where it is of one accelerator that nobody knows, and passed: of the host that says little.
    """
    topology, host = window.topology, event.resource.host
    rank = topology.rank_of_device(host, device)
    if rank is None and (numbered := _NUMBERED.fullmatch(device)):
        number = int(numbered[2])
        if numbered[1] == "GPU":
            rank = topology.rank_of_local(host, number)
        elif topology.host(number) == host:
            rank = number
        if rank is None and event.attributes.get("verdict") == "pass":
            return None
    return (None if rank is None else topology.gpu_entity(rank)) or topology.host_entity(host)
