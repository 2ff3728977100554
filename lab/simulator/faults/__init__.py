"""The faults of the simulator: one file each, and the list.

A fault is a frozen dataclass with its fault id, an onset (seconds from the start of the
recording), settings with usable defaults, and three methods: `act` changes the conditions at a
moment and `entity` says what is truly at fault. Places (`host`, `slot`) that a scenario leaves open
are drawn from the seed. `inject` puts a fault of a kind into any scenario: `needs` says what the
fault needs there (devices, pipeline stages), `prepared` changes more, `drawn` says how strong.

In: the conditions of a job and its machines at a moment. Out: the same conditions, changed.
Imports: vocabulary; what stands below it.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol, cast

import numpy as np

from ....vocabulary.entities import Entity
from ..conditions import ClusterConditions
from ..placement import RankSeats
from ..shape import ScenarioError, SimulatedCluster, SimulatedJob, SimulationScenario, Strength
from . import machines, training
from .draws import FaultDraw
from .records import FaultRecord


class SimulatedFault(Protocol):
    """What the simulator asks of a fault.

    `records(cluster)` is optional, too: what kernels, drivers and schedulers write down of it. So
    are a class attribute and two class methods. `needs` are what it needs of the scenario, of
    requirements.py. `prepared(draw)` returns the scenario, changed further so that the fault can
    occur in its first job, or raises ScenarioError where it cannot. `drawn(draw)` returns settings:
    fields of the fault but its place, and "lasts" (s) for how long it goes on. The onset is among
    them where the scenario decides it: 0 for what is so from the first step on, that of a restart
    or of the start of the job.
    `said(attempt)` is what the fault makes others report: a deployment, a line of a log. A fault
    whose ranks are those of a later attempt than at its onset has `seen_from`; one that a restart
    brings says so by `resumes`. `accepted(cluster, seats, job)`, of one at several places: the
    other entities that name it as well as `entity` does.
    """

    id: ClassVar[str]

    @property
    def onset(self) -> float:
        """Return when it begins to act, in seconds from the start of the recording."""
        ...

    def act(self, state: ClusterConditions, at: float) -> None:
        """Change the conditions as this fault does at this moment; nothing before its onset."""
        ...

    def entity(self, cluster: SimulatedCluster, seats: RankSeats, job: str) -> Entity:
        """Return what is truly at fault."""
        ...


FAULTS: dict[str, type[SimulatedFault]] = {
    **machines.FAULTS,
    **training.FAULTS,
}


def written(fault: SimulatedFault | None, cluster: SimulatedCluster) -> Sequence[FaultRecord]:
    """Return what kernels, drivers and schedulers write down of a fault."""
    found = getattr(fault, "records", None)
    return cast("Sequence[FaultRecord]", found(cluster)) if found is not None else ()


def accepted(
    fault: SimulatedFault, cluster: SimulatedCluster, seats: RankSeats, job: str
) -> tuple[Entity, ...]:
    """Return what names a fault as well as its entity does: the other places that it is at."""
    found = getattr(fault, "accepted", None)
    return tuple(cast("Sequence[Entity]", found(cluster, seats, job))) if found is not None else ()


def build(
    settings: Mapping[str, Any],
    *,
    cluster: SimulatedCluster,
    job: SimulatedJob,
    random: np.random.Generator,
) -> SimulatedFault:
    """Return the fault a scenario asks for; raises ScenarioError naming what it does not know."""
    rest = dict(settings)
    kind = rest.pop("kind", None)
    if kind not in FAULTS:
        raise ScenarioError(f"fault.kind {kind!r}: one of {', '.join(FAULTS)}")
    fields = {item.name for item in dataclasses.fields(cast("Any", FAULTS[kind]))}
    if unknown := sorted(set(rest) - fields):
        raise ScenarioError(f"fault {kind}: unknown {', '.join(unknown)}; it has {sorted(fields)}")
    hosts = job.hosts or tuple(range(cluster.hosts))
    slots = job.slots or tuple(range(cluster.slots))
    host = int(random.choice(hosts))
    place = int(random.choice(slots))
    if "host" in fields:
        rest.setdefault("host", host)
    if "place" in fields:
        rest.setdefault("place", place)
    if "slots" in fields:
        rest["slots"] = cluster.slots
    return FAULTS[kind](**rest)


def inject(
    kind: str,
    scenario: SimulationScenario,
    random: np.random.Generator,
    *,
    strength: Strength = "plain",
    onset: float | None = None,
) -> SimulationScenario:
    """Return the scenario with a fault of this kind in it, 30-70 % into it if no onset is given.

    Raises ScenarioError where the kind is unknown or the scenario cannot have it.
    """
    if kind not in FAULTS:
        raise ScenarioError(f"fault.kind {kind!r}: one of {', '.join(FAULTS)}")
    fault = cast("Any", FAULTS[kind])
    for need in getattr(fault, "needs", ()):
        scenario = need(scenario, random)
    if hasattr(fault, "prepared"):
        scenario = fault.prepared(FaultDraw(scenario, random, strength))
    if onset is None:
        onset = float(random.uniform(0.3, 0.7) * scenario.seconds)
    settings: dict[str, Any] = {"kind": kind, "onset": onset}
    if hasattr(fault, "drawn"):
        settings |= fault.drawn(FaultDraw(scenario, random, strength))
    if "lasts" in settings:
        settings["until"] = settings["onset"] + settings.pop("lasts")
    return dataclasses.replace(scenario, fault=settings)
