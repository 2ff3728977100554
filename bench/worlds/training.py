"""The steps of a synchronous job: each ends for every rank when the slowest has come.

A rank's arrival is its own wait for data, compute and garbage collection; what is left of the step
after these, its optimizer and the checkpoint is its exposed wait in collectives. So the phases of
every rank add up to the step, and who is slow waits least.
"""

from dataclasses import dataclass

import numpy as np

from . import cluster
from .cluster import ClusterLayout
from .effects import StepEffect
from .situation import CaseSituation

PHASES = ("data", "compute", "comm", "optimizer", "gc", "checkpoint")


@dataclass(frozen=True, slots=True)
class StepRecords:
    """Arrays over steps (S) and ranks: begins and ends (S), the phases and tokens (S, R).

    `pauses`: evaluations between steps as (begin, end). `stopped`: when the step that nobody ended
    began, None where all ended.
    """

    numbers: np.ndarray
    begins: np.ndarray
    ends: np.ndarray
    phases: dict[str, np.ndarray]
    tokens: np.ndarray
    pauses: tuple[tuple[float, float], ...]
    saves: tuple[tuple[float, float], ...]
    stopped: float | None

    @property
    def durations(self) -> np.ndarray:
        """Return the duration of each step."""
        return np.asarray(self.ends - self.begins)


@dataclass(frozen=True, slots=True)
class JobAttempt:
    """One attempt of the job: from `begin` (its processes start) to `end`, on `layout`."""

    number: int
    begin: float
    end: float
    layout: ClusterLayout
    records: StepRecords


def attempts(case: CaseSituation) -> tuple[JobAttempt, ...]:
    """Run all attempts of the job."""
    mark = case.restart
    ends = case.stop.ends if case.stop else case.end
    if mark is None:
        records = _simulated(case, 0, case.plan.world, case.first_step_at, case.first_step, ends)
        return (JobAttempt(0, case.begin, min(ends, case.end), case.layout, records),)
    first = _simulated(case, 0, case.plan.world, case.first_step_at, case.first_step, mark.at)
    again = mark.at + mark.seconds
    number = case.first_step + len(first.numbers) - mark.back
    starts = again + 12.0
    second = _simulated(case, 1, mark.world, starts, max(0, number), case.end)
    layout = cluster.reduced(case.layout, mark.world)
    return (
        JobAttempt(0, case.begin, mark.at, case.layout, first),
        JobAttempt(1, again, case.end, layout, second),
    )


def _simulated(
    case: CaseSituation, attempt: int, world: int, at: float, number: int, until: float
) -> StepRecords:
    rng = case.plan.rng(f"steps {attempt}")
    pace, first = case.pace, number
    base_tokens = float(rng.choice([2048, 4096, 8192])) * int(rng.integers(1, 9))
    rows: list[dict[str, np.ndarray]] = []
    numbers, begins, ends, tokens = [], [], [], []
    pauses: list[tuple[float, float]] = []
    saves: list[tuple[float, float]] = []
    wander = np.zeros(world)
    weather = 0.0
    stopped = None
    until = min(until, case.end)
    while at < until:
        done = number - first
        load, drawn = _load(case, at, done)
        weather = 0.9 * weather + rng.normal(0.0, 0.4 * pace.noise)
        common = load * (1.0 + weather) * float(np.exp(rng.normal(0.0, pace.noise)))
        if "expert_wander" in case.plan.habits:
            sd = case.plan.habits["expert_wander"]
            wander = 0.92 * wander + rng.normal(0.0, sd * 0.39, world)
        own = case.rank_factor[:world] * (1.0 + wander) * np.exp(rng.normal(0.0, pace.noise, world))
        phases = {
            "data": pace.data * np.exp(rng.normal(0.0, 0.25, world)),
            "compute": pace.compute * common * own,
            "gc": np.zeros(world),
            "optimizer": pace.optimizer * np.exp(rng.normal(0.0, 0.01, world)),
            "checkpoint": np.zeros(world),
            "tokens": np.ones(world),
        }
        network = pace.network * float(np.exp(rng.normal(0.0, 0.05)))
        if pace.checkpoint_every and done and not number % pace.checkpoint_every:
            phases["checkpoint"] += pace.checkpoint * float(np.exp(rng.normal(0.0, 0.15)))
        for effect in case.step_effects:
            network = _apply(effect, at, number, phases, network, rng)
        arrival = phases["data"] + phases["compute"] + phases["gc"]
        after = phases["optimizer"] + phases["checkpoint"]
        duration = float(arrival.max() + network + after.max())
        evaluated = bool(pace.eval_every and done and not number % pace.eval_every)
        pause = pace.eval * float(np.exp(rng.normal(0.0, 0.05))) if evaluated else 0.0
        inside = pause if "eval_within_step" in case.plan.habits else 0.0
        if pause:
            pauses.append((at, at + pause))
        begin = at + pause - inside
        duration += inside
        stop = case.stop
        if stop is not None and at + pause + duration > stop.at:
            stopped = begin
            break
        if begin + duration > until:
            break
        phases["comm"] = duration - inside - arrival - after
        if phases["checkpoint"].any():
            end = begin + duration
            saves.append((end - float(phases["checkpoint"].max()), end))
        rows.append(phases)
        numbers.append(number)
        begins.append(begin)
        ends.append(begin + duration)
        tokens.append(np.round(base_tokens * drawn * phases.pop("tokens")))
        at = begin + duration
        number += 1
    stacked = {
        name: np.array([row[name] for row in rows]).reshape(len(rows), world) for name in PHASES
    }
    return StepRecords(
        np.array(numbers, dtype=float),
        np.array(begins),
        np.array(ends),
        stacked,
        np.array(tokens).reshape(len(rows), world),
        tuple(pauses),
        tuple(saves),
        stopped,
    )


def _load(case: CaseSituation, at: float, done: int) -> tuple[float, float]:
    """Return how much longer compute takes than usual, and how many more tokens there are."""
    habits = case.plan.habits
    share = (at - case.begin) / (case.end - case.begin)
    load = tokens = 1.0
    if "sequence_ramp" in habits:
        tokens *= 1.0 + habits["sequence_ramp"] * share
        load *= 1.0 + habits["sequence_ramp"] * share * 1.1
    if "batch_ramp" in habits:
        stage = 1.0 + int(share * (int(habits["batch_ramp"]) + 1)) * 0.25
        load, tokens = load * stage, tokens * stage
    if "slow_drift" in habits:
        load *= 1.0 + habits["slow_drift"] * np.sin(2.0 * share + case.begin % 7.0)
    started = "joined_midway" not in habits
    if started and "warmup_steps" in habits:
        load *= 1.0 + 1.5 * np.exp(-3.0 * done / habits["warmup_steps"])
    if started and done == 0:
        load *= 2.0
        load += habits.get("compile_first", 0.0) / case.pace.compute
    return float(load), float(tokens)


def _apply(
    effect: StepEffect,
    at: float,
    number: int,
    phases: dict[str, np.ndarray],
    network: float,
    rng: np.random.Generator,
) -> float:
    strength = float(effect.begin <= at < effect.end)
    if effect.ramp:
        strength *= min(1.0, (at - effect.begin) / effect.ramp)
    drawn = rng.random()
    jitter = float(np.exp(rng.normal(0.0, effect.spread))) if effect.spread else 1.0
    if not strength or number % effect.every or drawn >= effect.chance:
        return network
    factor = 1.0 + (effect.factor - 1.0) * strength * jitter
    seconds = effect.seconds * strength * jitter
    if effect.phase == "network":
        return network * factor + seconds
    where = [one for one in effect.ranks if one < len(phases["data"])]
    if not where:
        return network
    if effect.one_of:
        where = [where[int(rng.integers(len(where)))]]
    before = phases[effect.phase][where]
    phases[effect.phase][where] = before * factor + seconds
    if effect.tokens:
        phases["tokens"][where] *= phases[effect.phase][where] / before
    return network
