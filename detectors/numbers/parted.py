"""Ranks that are replicas by what they do, though no wrapper says so, and have other weights.

They began with the very same weights, or update with the very same gradients. Parts of one model
do the former too where they are seeded alike: what tells them from replicas is that they read the
same data, or that some read none, or that the layout says so.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ...vocabulary.findings import Finding
from ..findings import INFORMATION, report
from ..window import JobWindow
from . import step_batches, weight_digests

_MOST_RANKS = 8
_STEPS = 2
"""In so many steps ranks with the same gradients have to have other weights."""


@dataclass(frozen=True, slots=True)
class WeightsOfRank:
    """What one rank said of its weights after one step. batch: a hash, empty without one."""

    row: int
    at: float
    digests: str
    batch: str


Groups = dict[tuple[str, tuple[int, ...]], dict[int, list[WeightsOfRank]]]
"""By what makes ranks replicas, and their place in the model, then by step."""


def found(
    window: JobWindow, detector: str, said: Iterable[step_batches.StepBatch]
) -> list[Finding]:
    """Return that such ranks have other weights, as information: some ways to train want it."""
    said = list(said)
    for attribute, judge in (("weights_first", _parted), ("gradients", _never_alike)):
        for groups in _groups(window, said, attribute).values():
            text_of = judge(groups)
            if text_of is not None:
                step, text = text_of
                return [_finding(window, detector, groups[step], text)]
    return []


def _groups(window: JobWindow, said: Iterable[step_batches.StepBatch], attribute: str) -> Groups:
    groups: Groups = {}
    layout = window.topology
    for event, step, row in said:
        key, held = step_batches.text(event, attribute), event.attributes.get("weights")
        if key and isinstance(held, str) and held:
            place = tuple(
                int(of[row]) if row < len(of) else -1 for of in (layout.tp, layout.pp, layout.ep)
            )
            if attribute == "gradients":
                key = f"{step} {key}"
            batch = step_batches.text(event, "hash")
            one = WeightsOfRank(row, event.at, held, batch)
            groups.setdefault((key, place), {}).setdefault(step, []).append(one)
    return groups if attribute != "gradients" else _by_ranks(groups)


def _by_ranks(groups: Groups) -> Groups:
    """Return groups of one step each as groups of the same ranks."""
    joined: Groups = {}
    for (_, place), steps in groups.items():
        for step, rows in steps.items():
            ranks = " ".join(str(one.row) for one in sorted(rows, key=lambda one: one.row))
            joined.setdefault((ranks, place), {})[step] = rows
    return joined


def _parted(steps: dict[int, list[WeightsOfRank]]) -> tuple[int, str] | None:
    compared = {step: rows for step, rows in sorted(steps.items()) if _replicas(rows)}
    apart = list(_apart(compared))
    if not apart or apart[-1] != max(compared):  # reduced now and then, on purpose
        return None
    step = apart[0]
    return step, (
        f"began with the very same weights, and after step {step} they are not the same in "
        f"{_where(compared[step])}: their gradients are not reduced alike"
    )


def _never_alike(steps: dict[int, list[WeightsOfRank]]) -> tuple[int, str] | None:
    compared = {step: rows for step, rows in sorted(steps.items()) if len(rows) > 1}
    apart = list(_apart(compared))
    if len(apart) < _STEPS or len(apart) < len(compared):
        return None
    step = apart[0]
    return step, (
        f"update with the very same gradients, and after step {step} their weights are not the "
        f"same in {_where(compared[step])}, nor after {len(apart) - 1} later ones: replicas that "
        "do not agree"
    )


def _apart(compared: dict[int, list[WeightsOfRank]]) -> Iterator[int]:
    for step, rows in compared.items():
        if len({one.digests for one in rows}) > 1:
            yield step


def _replicas(rows: list[WeightsOfRank]) -> bool:
    """Tell whether ranks can be replicas: each read a batch of its own, or nobody knows of any."""
    batches: dict[str, str] = {}
    for one in rows:
        if batches.setdefault(one.batch, one.digests) != one.digests and one.batch:
            return False  # of one batch replicas make one update
    return len(rows) > 1 and ("" not in batches or len(batches) == 1)


def _where(rows: list[WeightsOfRank]) -> str:
    return weight_digests.where(one.digests for one in rows)[0]


def _finding(window: JobWindow, detector: str, rows: list[WeightsOfRank], text: str) -> Finding:
    ranks = sorted(window.ranks[[one.row for one in rows]].tolist())
    return report(
        window,
        detector,
        "job.weights_parted",
        window.entity,
        onset=max(one.at for one in rows),
        score=INFORMATION,
        signal=step_batches.BATCH,
        text=f"ranks {', '.join(map(str, ranks[:_MOST_RANKS]))} {text}",
    )
