"""What is reported of collectives: how far each rank is in each group, and how fast they are."""

from collections.abc import Iterator

import numpy as np

from . import readings
from .cluster import GroupPlace, RankPlace
from .effects import Scalar
from .exporters import HostExporter
from .readings import ReadingTarget
from .series import MetricSeries
from .situation import CaseSituation
from .training import JobAttempt

_OPERATIONS = {"dp": "all_reduce", "ep": "all_to_all"}
_OFTEN = 4
"""A sample of single collectives of every so-manieth step."""


def reported(
    case: CaseSituation, attempt: JobAttempt, exporters: list[HostExporter], *, samples: bool
) -> Iterator[MetricSeries]:
    """Yield the series of every group of an attempt; `samples`: of single collectives too."""
    rng, records, number = (
        case.plan.rng(f"collectives {attempt.number}"), attempt.records, attempt.number,
    )  # fmt: skip
    if not len(records.ends):
        return
    for group in attempt.layout.groups:
        first = attempt.layout.ranks[group.ranks[0]]
        labels: dict[str, Scalar] = {
            "rank": first.rank,
            "group": group.name,
            "kind": group.kind,
            "desc": f"{group.kind}_group",
            "size": len(group.ranks),
            "ranks": ",".join(map(str, group.ranks)),
        }
        at = np.arange(attempt.begin + 8.0, attempt.end, 600.0)
        info, one = "collective.group.info", np.ones(len(at))
        yield MetricSeries(info, first.host, "collective", labels, at, one, number)
        base = float(rng.uniform(60e9, 320e9)) * (0.4 if group.kind == "dp" else 1.0)
        for rank in group.ranks:
            place = attempt.layout.ranks[rank]
            ticks = exporters[place.host].ticks(attempt.begin, attempt.end, agent=True)
            labels = {"rank": rank, "group": group.name}
            target = ReadingTarget(place.host, "collective", ticks, labels, attempt.begin, number)
            progress = _progress(case, attempt, group, place, ticks, rng)
            yield from readings.read("progress", target, progress, rng)
            if group.kind in _OPERATIONS:
                window = float(ticks[1] - ticks[0]) if len(ticks) > 1 else 5.0
                done = np.searchsorted(records.ends, ticks)
                last = np.clip(done - 1, 0, len(records.ends) - 1)
                speed = {
                    "ended": done - np.searchsorted(records.ends, ticks - window),
                    "waited": records.phases["comm"][last, rank],
                    "base": base,
                }
                labels["op"] = _OPERATIONS[group.kind]
                yield from readings.read("collective", target, speed, rng)
            if samples and group.kind == "dp":
                yield from _sampled(attempt, group, place)


def _sampled(attempt: JobAttempt, group: GroupPlace, place: RankPlace) -> Iterator[MetricSeries]:
    """Yield a rank's time in one collective of a step, joinable with its peers' by `seq`."""
    records = attempt.records
    for index in range(0, len(records.ends), _OFTEN):
        labels: dict[str, Scalar] = {
            "rank": place.rank,
            "group": group.name,
            "op": "all_reduce",
            "seq": int(records.numbers[index] - records.numbers[0] + 1) * group.per_step,
            "clock": "gpu",
        }
        only = slice(index, index + 1)
        waited = records.phases["comm"][only, place.rank]
        yield MetricSeries(
            "collective.op.duration", place.host, "collective", labels, records.ends[only],
            waited, attempt.number,
        )  # fmt: skip


def _progress(
    case: CaseSituation,
    attempt: JobAttempt,
    group: GroupPlace,
    place: RankPlace,
    ticks: np.ndarray,
    rng: np.random.Generator,
) -> dict[str, np.ndarray]:
    """Return how many collectives are enqueued, started, completed: in a step's second half.

    What is launched stays launched, and nothing of a step is in flight once its collectives are
    through: not while its state is saved, nor while a validation loss is computed after it.
    """
    records = attempt.records
    after = (records.phases["optimizer"] + records.phases["checkpoint"]).max(axis=1, initial=0.0)
    busy = sum(records.phases[name][:, place.rank] for name in ("data", "compute", "gc", "comm"))
    knots = np.stack([records.ends - after - 0.6 * busy, records.ends - after], axis=1)
    steps = np.arange(len(records.ends), dtype=float)
    numbers = np.stack([steps, steps + 1.0], axis=1).ravel()
    completed = np.floor(np.interp(ticks, knots.ravel(), numbers, left=0.0) * group.per_step + 1e-6)
    lead = rng.integers(0, 3, len(ticks)) * (completed > 0)
    most = np.searchsorted(knots[:, 0], ticks, side="right") * float(group.per_step)
    found = {"completed": completed} | {
        name: np.maximum.accumulate(np.minimum(completed + ahead, np.maximum(most, completed)))
        for name, ahead in (("enqueued", lead), ("started", np.minimum(lead, 1)))
    }
    if records.stopped is not None:
        stuck = ticks >= records.ends[-1] + 1.0
        last = _last(case, group, place, float(len(records.ends) * group.per_step))
        found = {name: np.where(stuck, last[name], row) for name, row in found.items()}
    return found


def _last(
    case: CaseSituation, group: GroupPlace, place: RankPlace, last: float
) -> dict[str, float]:
    """Return the numbers once nothing moves any more: who has called what its peers wait for."""
    kind = case.stop.kind if case.stop else ""
    culprit = case.stop is not None and place.rank in case.stop.ranks
    # In the wrong order, half of the ranks call the experts' collective first, half the other.
    elsewhere = kind == "order" and group.kind != ("ep" if place.dp % 2 else "dp")
    if elsewhere or (culprit and kind == "host"):
        return {"completed": last, "enqueued": last, "started": last}
    if culprit and kind == "gpu":
        return {"completed": last - 1.0, "enqueued": last + 1.0, "started": last}
    return {"completed": last, "enqueued": last + 1.0, "started": last + 1.0}
