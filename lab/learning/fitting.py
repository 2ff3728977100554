"""The weights that make the right candidates likeliest: a conditional logit, shrunk and bounded.

P(candidate) = softmax(score / temperature) among the candidates of one evaluation, unknown
included. What is learned are multipliers of the catalogue's numbers, all 1 at the start: a
multiplier is never negative, so every sign stays as physics has it, and a number that is 0 stays 0.
The loss is the negative log-likelihood of the right candidates, each case weighing 1, plus
`shrinkage` times the squared distance of each multiplier from 1. L-BFGS-B with bounds; the same
examples give the same numbers.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from ...alerts.causes.catalogue import Catalogue
from .examples import Example, Snapshot
from .parameters import Parameter, values

Floats = NDArray[np.float64]
Sharing = Literal["shared", "single"]
"""One multiplier for all weights of a group, or one for each weight."""

BOUNDS = (0.25, 3.0)
MOST_ITERATIONS = 300


@dataclass(frozen=True, slots=True)
class Fit:
    """Multipliers by parameter (1 where there is none), and the temperature in nats."""

    multipliers: Mapping[Parameter, float]
    temperature: float
    loss: float
    """Mean negative log-likelihood of a case, in nats, without the shrinkage."""


@dataclass(frozen=True, slots=True)
class Packed:
    """The snapshots of many cases in columns; `weight` by snapshot sums to the number of cases."""

    snapshot: NDArray[np.int64]
    """By candidate: which snapshot it is of."""
    right: NDArray[np.bool_]
    fixed: Floats
    candidate: NDArray[np.int64]
    """By slot: which candidate it is of."""
    capped: NDArray[np.bool_]
    slot: NDArray[np.int64]
    """By term."""
    variable: NDArray[np.int64]
    value: Floats
    """By term: factor times the number in the catalogue."""
    weight: Floats
    cases: int
    faults: tuple[str, ...]
    """By candidate."""


def names(knowledge: Catalogue, sharing: Sharing) -> dict[Parameter, str]:
    """Return the name of the multiplier of each parameter."""
    return {
        parameter: parameter.group if sharing == "shared" or not parameter.fault
        else " ".join(map(str, parameter))
        for parameter in values(knowledge)
    }  # fmt: skip


def packed(
    examples: Sequence[Example], knowledge: Catalogue, variables: Mapping[Parameter, int]
) -> Packed:
    """Return examples in columns, for multipliers in these columns."""
    weights = values(knowledge)
    shots = [(shot, 1 / len(row.snapshots)) for row in examples for shot in row.snapshots]
    first, slots = 0, 0
    parts: list[tuple[NDArray[np.int64], ...]] = []
    products: list[Floats] = []
    for number, (shot, _) in enumerate(shots):
        of = np.array([variables.get(p, -1) for p in shot.parameters], dtype=np.int64)
        base = np.array([weights.get(p, 0.0) for p in shot.parameters])
        parts.append(
            (
                np.full(len(shot.faults), number),
                shot.slot + slots,
                of[shot.parameter],
                _candidate_of_slot(shot) + first,
            )
        )
        products.append(shot.value * base[shot.parameter])
        first, slots = first + len(shot.faults), slots + len(shot.capped)
    columns = [np.concatenate(rows) for rows in zip(*parts, strict=True)]
    return Packed(
        snapshot=columns[0],
        right=np.concatenate([shot.right for shot, _ in shots]),
        fixed=np.concatenate([shot.fixed for shot, _ in shots]),
        candidate=columns[3],
        capped=np.concatenate([shot.capped for shot, _ in shots]),
        slot=columns[1],
        variable=columns[2],
        value=np.concatenate(products),
        weight=np.array([weight for _, weight in shots]),
        cases=len(examples),
        faults=tuple(fault for shot, _ in shots for fault in shot.faults),
    )


def scores(data: Packed, multipliers: Floats, cap: float) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the score of each candidate, and by slot whether a cap holds it."""
    total = np.bincount(
        data.slot, weights=data.value * multipliers[data.variable], minlength=len(data.capped)
    )
    held = data.capped & (np.abs(total) > cap)
    total = np.where(held, np.clip(total, -cap, cap), total)
    found = np.bincount(data.candidate, weights=total, minlength=len(data.right))
    return found + data.fixed, held


def fit(
    examples: Sequence[Example],
    knowledge: Catalogue,
    *,
    sharing: Sharing,
    shrinkage: float,
    fixed: Collection[str] = (),
) -> Fit:
    """Return the multipliers that explain the examples best; those of `fixed` names stay 1."""
    named = names(knowledge, sharing)
    columns = {name: number for number, name in enumerate(sorted(set(named.values())))}
    variables = {parameter: columns[name] for parameter, name in named.items()}
    data = packed(examples, knowledge, variables)
    cap, count = knowledge.weights.family_cap, len(columns)
    begin = np.append(np.ones(count), 0.0)

    def objective(point: Floats) -> tuple[float, Floats]:
        loss, slope = _loss(data, point, cap)
        away = point[:-1] - 1.0
        slope[:-1] += 2 * shrinkage * away
        return loss + shrinkage * float(away @ away), slope

    found = optimize.minimize(
        objective,
        begin,
        jac=True,
        method="L-BFGS-B",
        bounds=[(1.0, 1.0) if name in fixed else BOUNDS for name in columns] + [(-2.0, 2.0)],
        options={"maxiter": MOST_ITERATIONS},
    )
    loss, _ = _loss(data, found.x, cap)
    return Fit(
        {parameter: float(found.x[column]) for parameter, column in variables.items()},
        float(np.exp(found.x[-1])),
        loss / data.cases,
    )


def probabilities(data: Packed, score: Floats, temperature: float) -> Floats:
    """Return the probability of each candidate within its snapshot."""
    count = len(data.weight)
    scaled = score / temperature
    most = np.full(count, -np.inf)
    np.maximum.at(most, data.snapshot, scaled)
    power = np.exp(scaled - most[data.snapshot])
    total = np.bincount(data.snapshot, weights=power, minlength=count)
    chance: Floats = power / total[data.snapshot]
    return chance


def _loss(data: Packed, point: Floats, cap: float) -> tuple[float, Floats]:
    """Return the negative log-likelihood and its slope; the last variable is log temperature."""
    temperature = float(np.exp(point[-1]))
    score, held = scores(data, point[:-1], cap)
    chance = probabilities(data, score, temperature)
    count = len(data.weight)
    of_right = np.bincount(data.snapshot, weights=chance * data.right, minlength=count)
    of_right = np.maximum(of_right, 1e-12)
    loss = float(-(data.weight * np.log(of_right)).sum())
    wanted = chance * data.right / of_right[data.snapshot]
    pull = (chance - wanted) * data.weight[data.snapshot]
    by_slot = np.where(held, 0.0, pull[data.candidate]) / temperature
    slope = np.bincount(
        data.variable, weights=by_slot[data.slot] * data.value, minlength=len(point) - 1
    )
    return loss, np.append(slope, -float((pull * score).sum()) / temperature)


def _candidate_of_slot(shot: Snapshot) -> NDArray[np.int64]:
    of = np.zeros(len(shot.capped), dtype=np.int64)
    of[shot.slot] = shot.candidate
    return of
