"""What is reported of collectives: how far each rank is in each group, and how fast they are."""

from collections.abc import Iterator

import numpy as np

from .cluster import RankPlace
from .effects import Scalar
from .exporters import HostExporter
from .series import MetricSeries
from .situation import CaseSituation
from .training import JobAttempt

_OPERATIONS = {"dp": "all_reduce", "tp": "all_gather", "pp": "send", "ep": "all_to_all"}


def reported(
    case: CaseSituation, attempt: JobAttempt, exporters: list[HostExporter]
) -> Iterator[MetricSeries]:
    """Yield the series of every group of an attempt."""
    rng = case.plan.rng(f"collectives {attempt.number}")
    records = attempt.records
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
        yield MetricSeries(
            "collective.group.info", first.host, "collective", labels, at, np.ones(len(at)),
            attempt.number,
        )  # fmt: skip
        base = float(rng.uniform(60e9, 320e9)) * (0.4 if group.kind == "dp" else 1.0)
        for rank in group.ranks:
            place = attempt.layout.ranks[rank]
            ticks = exporters[place.host].ticks(attempt.begin, attempt.end, agent=True)
            done = _progress(attempt, ticks)
            completed = np.floor(done * group.per_step + 1e-6)
            lead = rng.integers(0, 3, len(ticks)) * (completed > 0)
            enqueued, started = completed + lead, completed + np.minimum(lead, 1)
            stuck = (ticks >= records.ends[-1] + 1.0) & (records.stopped is not None)
            if stuck.any() and case.stop is not None:
                rows = (completed, enqueued, started)
                completed, enqueued, started = _stopped(
                    case, place, group.kind, stuck, len(records.ends), rows, group.per_step
                )
            mine: dict[str, Scalar] = {"rank": rank, "group": group.name}
            for name, values in (
                ("collective.enqueued", enqueued),
                ("collective.started", started),
                ("collective.completed", completed),
            ):
                yield MetricSeries(
                    name, place.host, "collective", mine, ticks, values, attempt.number
                )
            if group.kind in ("dp", "ep"):
                yield from _speed(attempt, rank, group.kind, mine, ticks, base, rng)


def sampled(attempt: JobAttempt) -> Iterator[MetricSeries]:
    """Yield one joinable sample a step and data-parallel group: each member's time in it."""
    records = attempt.records
    for group in attempt.layout.groups:
        if group.kind != "dp":
            continue
        for rank in group.ranks:
            host = attempt.layout.ranks[rank].host
            waited = records.phases["comm"][:, rank]
            for index in range(0, len(waited), 4):
                labels: dict[str, Scalar] = {
                    "rank": rank,
                    "group": group.name,
                    "op": "all_reduce",
                    "seq": int(records.numbers[index] - records.numbers[0] + 1) * group.per_step,
                    "clock": "gpu",
                }
                at, value = records.ends[index : index + 1], waited[index : index + 1]
                yield MetricSeries(
                    "collective.op.duration", host, "collective", labels, at, value, attempt.number
                )


def _progress(attempt: JobAttempt, ticks: np.ndarray) -> np.ndarray:
    """Return the steps that are done, with fractions; collectives lie in a step's second half."""
    records = attempt.records
    knots = np.stack([records.begins + 0.4 * records.durations, records.ends], axis=1).ravel()
    steps = np.arange(len(records.ends), dtype=float)
    done = np.stack([steps, steps + 1.0], axis=1).ravel()
    return np.asarray(np.interp(ticks, knots, done, left=0.0))


def _stopped(
    case: CaseSituation,
    place: RankPlace,
    kind: str,
    stuck: np.ndarray,
    steps: int,
    rows: tuple[np.ndarray, ...],
    per_step: int,
) -> tuple[np.ndarray, ...]:
    """Return completed, enqueued, started once nothing moves any more."""
    assert case.stop is not None  # noqa: S101 - for the types: the caller asks
    last = float(steps * per_step)
    culprit = place.rank in case.stop.ranks
    completed, enqueued, started = last, last + 1.0, last + 1.0
    if case.stop.kind == "order":
        # Half of the ranks call the experts' collective first, the others that of data parallelism.
        first = "ep" if place.dp % 2 else "dp"
        if kind != first:
            enqueued = started = last
    elif culprit and case.stop.kind == "host":
        enqueued = started = last
    elif culprit and case.stop.kind == "gpu":
        completed, started = last - 1.0, last
    return tuple(
        np.where(stuck, value, row)
        for value, row in zip((completed, enqueued, started), rows, strict=True)
    )


def _speed(
    attempt: JobAttempt,
    rank: int,
    kind: str,
    labels: dict[str, Scalar],
    ticks: np.ndarray,
    base: float,
    rng: np.random.Generator,
) -> Iterator[MetricSeries]:
    """Yield count, durations and bandwidth an interval, where steps ended in it."""
    records, place = attempt.records, attempt.layout.ranks[rank]
    window = float(ticks[1] - ticks[0]) if len(ticks) > 1 else 5.0
    ended = np.searchsorted(records.ends, ticks) - np.searchsorted(records.ends, ticks - window)
    index = np.clip(np.searchsorted(records.ends, ticks) - 1, 0, len(records.ends) - 1)
    waited = records.phases["comm"][index, rank] / 4.0
    mine = labels | {"op": _OPERATIONS[kind]}
    some = ended > 0
    for name, values in (
        ("collective.count", ended * 4.0),
        ("collective.duration", waited),
        ("collective.duration.max", waited * 1.8),
        ("collective.bus_bandwidth", base * np.exp(rng.normal(0.0, 0.03, len(ticks)))),
    ):
        series = MetricSeries(name, place.host, "collective", mine, ticks, values, attempt.number)
        yield series.kept(some)
