"""What trainers report of their steps: phases, values, memory, and that they live."""

from collections.abc import Iterator

import numpy as np

from . import readings
from .effects import Scalar
from .exporters import HostExporter
from .readings import ReadingTarget
from .series import MetricSeries
from .situation import CaseSituation
from .training import PHASES, JobAttempt


def reported(
    case: CaseSituation, attempt: JobAttempt, exporters: list[HostExporter]
) -> Iterator[MetricSeries]:
    """Yield the series of every rank of an attempt that the job's reporter would send."""
    rng, reporter = case.plan.rng(f"step series {attempt.number}"), case.plan.reporter
    records, number = attempt.records, attempt.number
    values = _values(case, attempt, rng)
    framework = str(rng.choice(["pytorch", "megatron", "deepspeed", "pytorch"]))
    # Estimates take some of the waits for compute.
    hidden = float(rng.uniform(0.0, 0.25)) if reporter.quality == "estimated" else 0.0
    scope = "global" if case.curve.global_loss else "local"
    for place in attempt.layout.ranks:
        rank: dict[str, Scalar] = {"rank": place.rank}
        source: dict[str, Scalar] = {"source": reporter.source} if reporter.source else {}
        names = {name: records.phases[name][:, place.rank] for name in PHASES}
        missed = hidden * names["comm"]
        names |= {"compute": names["compute"] + missed, "comm": names["comm"] - missed}
        names |= {name: column[:, place.rank] for name, column in values.items()}
        names["allocated"] = _allocated(case, place.rank, len(records.ends))
        said = {"quality": reporter.quality, "scope": scope if reporter.quality else ""}
        target = ReadingTarget(
            place.host, "training", records.ends, rank | source, attempt.begin, number
        )
        yield from readings.read("step", target, names | said, rng)
        coordinates: dict[str, Scalar] = {"dp": place.dp, "tp": place.tp, "pp": place.pp}
        labels: dict[str, Scalar] = {
            "local_rank": place.local,
            "world_size": len(attempt.layout.ranks),
            "hw.id": place.gpu,
            "pid": place.pid_of(number),
            "framework": framework,
            **(coordinates if reporter.quality else {}),
        }
        exporter = exporters[place.host]
        often = np.arange(attempt.begin + exporter.shift % 5.0, attempt.end, 5.0)
        yield MetricSeries(
            "training.rank.info", place.host, "training", rank | labels, often,
            np.ones(len(often)), number,
        )  # fmt: skip
        ticks = exporter.ticks(attempt.begin, attempt.end, agent=True)
        target = ReadingTarget(place.host, "training", ticks, rank, attempt.begin, number)
        done = np.searchsorted(records.ends, ticks, side="right")
        age = ticks - np.concatenate([[attempt.begin], records.ends])[done]
        yield from readings.read("life", target, {"age": age}, rng)


def _allocated(case: CaseSituation, rank: int, steps: int) -> np.ndarray:
    """Return the memory that the process has allocated at the end of each step."""
    rng = case.plan.rng(f"memory {rank}")
    share = float(rng.normal(0.0, 0.004)) + 0.55 + 0.3 * (case.begin % 97.0) / 97.0
    grown = np.minimum(1.0, 0.25 + 0.35 * np.arange(1, steps + 1))
    noise = 1.0 + rng.normal(0.0, 0.003, steps)
    return np.asarray(case.plan.device.memory * 2.0**30 * share * grown * noise)


def _values(
    case: CaseSituation, attempt: JobAttempt, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """Return what a step of a rank has beside its phases, over steps and ranks."""
    curve, records = case.curve, attempt.records
    shape = steps, ranks = records.tokens.shape
    common = np.exp(rng.normal(0.0, curve.noise, (steps, 1)))
    learnt = records.numbers
    if curve.flat_from < case.end:
        learnt = np.minimum(learnt, learnt[np.searchsorted(records.ends[:-1], curve.flat_from)])
    norm = curve.grad_norm(records.numbers)[:, None]
    norm = norm * np.exp(rng.normal(0.0, curve.norm_noise, (steps, 1)))
    own = np.ones(shape)
    if not curve.global_loss:
        own = np.exp(rng.normal(0.0, curve.rank_noise, shape))
        # A pipeline's or tensor group's members see the loss of the same batch.
        own = own[:, np.array([one.dp for one in attempt.layout.ranks]) % max(1, ranks)]
    columns = {
        "number": records.numbers,
        "duration": records.durations,
        "rate": curve.learning_rate(records.numbers),
        "scale": np.full(steps, curve.scale),
    }
    return {name: np.broadcast_to(row[:, None], shape) for name, row in columns.items()} | {
        "tokens": records.tokens,
        "loss": curve.loss(learnt)[:, None] * common * own,
        "norm": norm * np.where(own == 1.0, 1.0, own**2),
    }
