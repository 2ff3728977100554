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
    """Arrays over steps (S) and ranks: numbers, begins and ends (S), phases and tokens (S, R).

    `pauses` and `saves`: evaluations between steps and checkpoints as (begin, end). `stopped`: when
    the step that nobody ended began, None where all ended.
    """

    numbers: np.ndarray
    begins: np.ndarray
    ends: np.ndarray
    phases: dict[str, np.ndarray]
    tokens: np.ndarray
    pauses: list[tuple[float, float]]
    saves: list[tuple[float, float]]
    stopped: float | None

    @property
    def durations(self) -> np.ndarray:
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
    mark, world = case.restart, case.plan.world
    ends = min(case.end, mark.at if mark else case.stop.ends if case.stop else case.end)
    first = _simulated(case, 0, world, case.first_step_at, case.first_step, ends)
    found = (JobAttempt(0, case.begin, ends, case.layout, first),)
    if mark is None:
        return found
    again = mark.at + mark.seconds
    number = max(0, case.first_step + len(first.numbers) - mark.back)
    second = _simulated(case, 1, mark.world, again + 12.0, number, case.end)
    layout = cluster.reduced(case.layout, mark.world)
    return (*found, JobAttempt(1, again, case.end, layout, second))


def _simulated(
    case: CaseSituation, attempt: int, world: int, at: float, number: int, until: float
) -> StepRecords:
    rng, pace, first = case.plan.rng(f"steps {attempt}"), case.pace, number
    base_tokens = float(rng.choice([2048, 4096, 8192])) * int(rng.integers(1, 9))
    wanders = case.habit("expert_wander")
    within, wander, weather = case.habit("eval_within_step") is not None, np.zeros(world), 0.0
    rows: list[dict[str, np.ndarray]] = []
    spans: list[tuple[float, float]] = []
    pauses: list[tuple[float, float]] = []
    saves: list[tuple[float, float]] = []
    stopped = None
    while at < until:
        done = number - first
        load, drawn = _load(case, at, done)
        weather = 0.9 * weather + rng.normal(0.0, 0.4 * pace.noise)
        common = load * (1.0 + weather) * float(np.exp(rng.normal(0.0, pace.noise)))
        if wanders:
            wander = 0.92 * wander + rng.normal(0.0, wanders * 0.39, world)
        own = case.rank_factor[:world] * (1.0 + wander) * np.exp(rng.normal(0.0, pace.noise, world))
        row = {
            "data": pace.data * np.exp(rng.normal(0.0, 0.25, world)),
            "compute": pace.compute * common * own,
            "gc": np.zeros(world),
            "optimizer": pace.optimizer * np.exp(rng.normal(0.0, 0.01, world)),
            "checkpoint": np.zeros(world),
            "tokens": np.ones(world),
        }
        network = pace.network * float(np.exp(rng.normal(0.0, 0.05)))
        if pace.checkpoint_every and done and not number % pace.checkpoint_every:
            row["checkpoint"] += pace.checkpoint * float(np.exp(rng.normal(0.0, 0.15)))
        for effect in case.step_effects:
            network = _apply(effect, at, number, row, network, rng)
        arrival, after = (
            row["data"] + row["compute"] + row["gc"],
            row["optimizer"] + row["checkpoint"],
        )
        duration = float(arrival.max() + network + after.max())
        row["comm"] = duration - arrival - after
        evaluated = bool(pace.eval_every and done and not number % pace.eval_every)
        pause = pace.eval * float(np.exp(rng.normal(0.0, 0.05))) if evaluated else 0.0
        if pause:
            pauses.append((at, at + pause))
        begin, end = at + (0.0 if within else pause), at + pause + duration
        if case.stop is not None and end > case.stop.at:
            stopped = begin
            break
        if end > until:
            break
        if row["checkpoint"].any():
            saves.append((end - float(row["checkpoint"].max()), end))
        row["tokens"] = np.round(base_tokens * drawn * row["tokens"])
        rows.append(row)
        spans.append((begin, end))
        at, number = end, number + 1
    columns = {
        name: np.array([row[name] for row in rows]).reshape(len(rows), world)
        for name in (*PHASES, "tokens")
    }
    numbers = np.arange(first, number, dtype=float)
    begins, ends = np.array(spans).reshape(-1, 2).T
    tokens = columns.pop("tokens")
    return StepRecords(
        numbers=numbers, begins=begins, ends=ends, phases=columns, tokens=tokens,
        pauses=pauses, saves=saves, stopped=stopped,
    )  # fmt: skip


def _load(case: CaseSituation, at: float, done: int) -> tuple[float, float]:
    """Return how much longer compute takes than usual, and how many more tokens there are."""
    habits = case.plan.habits
    share = (at - case.begin) / (case.end - case.begin)
    ramp = habits.get("sequence_ramp", 0.0) * share
    stage = 1.0
    if "batch_ramp" in habits:
        stage += int(share * (int(habits["batch_ramp"]) + 1)) * 0.25
    load = (1.0 + 1.1 * ramp) * stage
    load *= 1.0 + habits.get("slow_drift", 0.0) * np.sin(2.0 * share + case.begin % 7.0)
    if "joined_midway" not in habits:
        if "warmup_steps" in habits:
            load *= 1.0 + 1.5 * np.exp(-3.0 * done / habits["warmup_steps"])
        if not done:
            load = 2.0 * load + habits.get("compile_first", 0.0) / case.pace.compute
    return float(load), (1.0 + ramp) * stage


def _apply(
    effect: StepEffect,
    at: float,
    number: int,
    row: dict[str, np.ndarray],
    network: float,
    rng: np.random.Generator,
) -> float:
    """Change what an effect changes of a step; return the network's part of it."""
    strength = float(effect.begin <= at < effect.end)
    if effect.ramp:
        strength *= min(1.0, (at - effect.begin) / effect.ramp)
    drawn = rng.random()
    jitter = float(np.exp(rng.normal(0.0, effect.spread))) if effect.spread else 1.0
    if not strength or number % int(effect.every) or drawn >= effect.chance:
        return network
    factor = 1.0 + (effect.factor - 1.0) * strength * jitter
    seconds = effect.seconds * strength * jitter
    if effect.phase == "network":
        return network * factor + seconds
    where = [one for one in effect.ranks if one < len(row["data"])]
    if where and effect.one_of:
        where = [where[int(rng.integers(len(where)))]]
    before = row[effect.phase][where]
    row[effect.phase][where] = before * factor + seconds
    if effect.tokens:
        row["tokens"][where] *= row[effect.phase][where] / before
    return network
