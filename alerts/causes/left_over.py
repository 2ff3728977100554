"""Symptoms that no named root explains: they join the nearest root in time, or are unknown."""

from collections.abc import Sequence
from dataclasses import replace

from ...vocabulary import faults
from ...vocabulary.findings import Finding
from .catalogue import CauseCatalogue
from .folding import FoldedRoot, effect
from .index import FindingIndex
from .ranking import ranking
from .view import JobView

URGENT = 2.0
"""Score from which on a symptom that costs nothing yet is more than worth knowing."""

TOGETHER_SECONDS = 120.0
"""A symptom that no cause is named for joins a root whose symptoms began so close to it."""


def shared_out(
    result: list[FoldedRoot],
    symptoms: Sequence[Finding],
    index: FindingIndex,
    view: JobView,
    knowledge: CauseCatalogue,
) -> list[FoldedRoot]:
    """Give symptoms without a root of their own to the nearest one in time, else to unknown.

    What hurts the job does not join a fault that is only worth knowing: a clock that is off, or a
    leak that fills the memory next week, is near everything in time, and slows nothing. Nor does a
    stop join what can only make the job slower: heat, a low clock, a slow data loader.
    """
    alone: list[Finding] = []
    onsets = [{held.onset[0] for held in root.symptoms} for root in result]
    for symptom in symptoms:
        near = [
            (abs(begun - symptom.onset[0]), number)
            for number, held in enumerate(onsets)
            for begun in held
            if effect(symptom) == "none" or not _only_known(result[number])
            if effect(symptom) != "stops" or not _only_slows(result[number])
        ]
        distance, number = min(near, default=(float("inf"), 0))
        if distance > TOGETHER_SECONDS:
            alone.append(symptom)
            continue
        root = result[number]
        result[number] = replace(root, symptoms=(*root.symptoms, symptom))
        onsets[number].add(symptom.onset[0])
    alone.sort(key=lambda symptom: (symptom.onset[0], symptom.kind, symptom.entity))
    groups: list[list[Finding]] = []
    for symptom in alone:
        stopped = [group for group in groups if effect(group[0]) == effect(symptom) == "stops"]
        if stopped:  # a job stops only once: ranks end long after the stall that ends them
            stopped[0].append(symptom)
        elif groups and symptom.onset[0] - groups[-1][-1].onset[0] <= TOGETHER_SECONDS:
            groups[-1].append(symptom)
        else:
            groups.append([symptom])
    result += [FoldedRoot(ranking(index, group, view, knowledge), tuple(group)) for group in groups]
    return result


def _only_slows(root: FoldedRoot) -> bool:
    """Return whether all that a root's fault can do is make the job slower."""
    first = root.ranking.named
    effects = frozenset() if first is None else first.cause.effects
    return "slows" in effects and effects.isdisjoint(("stops", "corrupts"))


def _only_known(root: FoldedRoot) -> bool:
    """Return whether a root pages nobody: by its first cause, or by all that it shows."""
    first = root.ranking.named
    if first is not None and faults.catalogue()[first.cause.fault].severity == "info":
        return True
    return all(effect(row) == "none" and row.score < URGENT for row in root.symptoms)
