"""Results of checks as they would be where this is the truth: simulated, by the table's own rates.

A check whose subject is the fault is slow or failed as often as `vocabulary/checks` says that it
shows it, at the faulty device, where what the fault does can be seen by it (visible.py) and it is
not over. Any other check passes, but for `unlike`: so often a device that is drawn is called slow.
That each device is told apart from its neighbours, and that every check of the table can be made on
the host, is assumed.
"""

import random
from collections.abc import Callable, Sequence

from rankscope.lab.scoring.seen import CaseTruth
from rankscope.vocabulary.checks import EVENT, ActiveCheck
from rankscope.vocabulary.samples import Event, Scalar, TelemetryResource
from rankscope.vocabulary.topology import JobTopology

_NODE = "node"

Visible = Callable[[ActiveCheck], float]
"""In which share of its runs a check meets the fault of the case, where it is one of its causes."""


def always(_check: ActiveCheck) -> float:
    return 1.0


class SimulatedChecks:
    """Results on the hosts of a job, drawn from a seed: a check that is run again says the same."""

    def __init__(
        self,
        truths: Sequence[CaseTruth],
        topology: JobTopology,
        seed: str,
        visible: Visible = always,
    ) -> None:
        self._truths = truths
        self._topology = topology
        self._seed = seed
        self._visible = visible

    def devices(self, host: str) -> int:
        """Return how many accelerators ranks of the job have on a host."""
        return len(self._devices(host))

    def events(self, check: ActiveCheck, host: str, at: float) -> list[Event]:
        """Return what the agent of a host would send: an event a device, or one of the host."""
        chance = random.Random(f"{self._seed} {check.name} {host}")
        shown = [
            truth
            for truth in self._truths
            if _shows(check, truth) and self._at(truth, host) and at < truth.until
        ]
        found = max([check.likelihood(truth.fault) for truth in shown], default=check.unlike)
        likely = check.unlike + self._visible(check) * (found - check.unlike)
        bad = chance.random() < likely
        devices = self._devices(host) if check.about == "gpu" else {}
        if not devices:
            return [_event(check, host, _NODE, at, bad=bad)]
        faulty = {rank for truth in shown for rank in truth.entity.ranks if rank in devices}
        wrong = faulty or {chance.choice(sorted(devices))}
        return [
            _event(check, host, name, at, bad=bad and rank in wrong)
            for rank, name in devices.items()
        ]

    def _at(self, truth: CaseTruth, host: str) -> bool:
        """Return whether a fault can be seen from a host: what no host has, every one shows."""
        entity = truth.entity
        if entity.host is not None:
            return entity.host == host
        members = entity.ranks.members
        return not members or bool(members & self._topology.ranks_of_host(host).members)

    def _devices(self, host: str) -> dict[int, str]:
        """Return the ranks of a host that have an accelerator, with what a tool calls it."""
        ranks = sorted(self._topology.ranks_of_host(host))
        return {
            rank: f"GPU {number}"
            for number, rank in enumerate(ranks)
            if self._topology.gpu_entity(rank) is not None
        }


def _shows(check: ActiveCheck, truth: CaseTruth) -> bool:
    return any(cause.fault == truth.fault for cause in check.causes)


def _event(check: ActiveCheck, host: str, device: str, at: float, *, bad: bool) -> Event:
    said: dict[str, Scalar] = {
        "check": check.name,
        "device": device,
        "unit": check.unit,
        "verdict": "slow" if bad else "pass",
        "reason": "simulated",
    }
    return Event(EVENT, at, said, TelemetryResource(host))
