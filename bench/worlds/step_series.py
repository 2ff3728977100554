"""What trainers report of their steps: phases, values, memory, and that they live."""

from collections.abc import Iterator

import numpy as np

from .effects import Scalar
from .exporters import HostExporter
from .series import Family, MetricSeries
from .situation import CaseSituation
from .training import JobAttempt

_SPLIT = {
    "compute": "training.compute.duration",
    "comm": "training.comm.duration",
    "data": "training.data.duration",
    "optimizer": "training.optimizer.duration",
}
_ESTIMATED = ("training.compute.duration", "training.comm.duration")
_RARE = {"gc": "training.gc.duration", "checkpoint": "training.checkpoint.duration"}


def reported(
    case: CaseSituation, attempt: JobAttempt, exporters: list[HostExporter]
) -> Iterator[MetricSeries]:
    """Yield the series of every rank of an attempt that the job's reporter would send."""
    rng = case.plan.rng(f"step series {attempt.number}")
    values = _values(case, attempt, rng)
    coordinates = case.plan.reporter.quality != ""
    framework = str(rng.choice(["pytorch", "megatron", "deepspeed", "pytorch"]))
    hidden = float(rng.uniform(0.0, 0.25)) if case.plan.reporter.quality == "estimated" else 0.0
    for place in attempt.layout.ranks:
        maker = _RankSeries(case, attempt, place.rank)
        yield from maker.of_steps(values, hidden)
        labels: dict[str, Scalar] = {
            "local_rank": place.local,
            "world_size": len(attempt.layout.ranks),
            "hw.id": place.gpu,
            "pid": place.pid + 40 * attempt.number,
            "framework": framework,
        }
        if coordinates:
            labels |= {"dp": place.dp, "tp": place.tp, "pp": place.pp}
        yield from maker.of_life(labels, exporters[place.host])


class _RankSeries:
    """The series of one rank of one attempt."""

    def __init__(self, case: CaseSituation, attempt: JobAttempt, rank: int) -> None:
        self._case, self._attempt, self._rank = case, attempt, rank
        self._host = attempt.layout.ranks[rank].host
        self._ends = attempt.records.ends

    def of_steps(self, values: dict[str, np.ndarray], hidden: float) -> Iterator[MetricSeries]:
        """Yield what has one point a step. `hidden`: share of the waits that estimates miss."""
        records, rank = self._attempt.records, self._rank
        quality = self._case.plan.reporter.quality
        yield self._one("training.step", records.numbers)
        yield self._one("training.step.duration", records.durations)
        yield self._one("training.tokens", records.tokens[:, rank])
        missed = hidden * records.phases["comm"][:, rank]
        shown = {name: records.phases[name][:, rank] for name in _SPLIT}
        shown["compute"] = shown["compute"] + missed
        shown["comm"] = shown["comm"] - missed
        for name, metric in _SPLIT.items():
            more: dict[str, Scalar] = {}
            if quality and metric in _ESTIMATED:
                more["quality"] = quality
            yield self._one(metric, shown[name], **more)
        for name, metric in _RARE.items():
            column = records.phases[name][:, rank]
            series = self._one(metric, column)
            yield series.kept(column > 0.0)
        scope: dict[str, Scalar] = {}
        if quality:
            scope["scope"] = "global" if self._case.curve.global_loss else "local"
        yield self._one("training.loss", values["loss"][:, rank], **scope)
        yield self._one("training.grad_norm", values["grad_norm"][:, rank], **scope)
        yield self._one("training.learning_rate", values["learning_rate"])
        yield self._one("training.nonfinite", np.zeros(len(self._ends)))
        if self._case.curve.scale:
            yield self._one("training.loss_scale", np.full(len(self._ends), self._case.curve.scale))

    def of_life(self, labels: dict[str, Scalar], exporter: HostExporter) -> Iterator[MetricSeries]:
        """Yield what comes as long as the process lives."""
        case, attempt = self._case, self._attempt
        ticks = exporter.ticks(attempt.begin, attempt.end, agent=True)
        rank: dict[str, Scalar] = {"rank": self._rank}
        often = np.arange(attempt.begin + exporter.shift % 5.0, attempt.end, 5.0)
        yield MetricSeries(
            "training.rank.info",
            self._host,
            "training",
            rank | labels,
            often,
            np.ones(len(often)),
            attempt.number,
        )
        stepped = ticks[np.searchsorted(self._ends, ticks, side="right") > 0]
        if len(stepped):
            last = self._ends[np.searchsorted(self._ends, stepped, side="right") - 1]
            yield self._paced("training.progress.age", stepped, stepped - last)
        rng = case.plan.rng(f"memory {self._rank}")
        limit = case.plan.device.memory * 2.0**30
        share = float(rng.normal(0.0, 0.004)) + 0.55 + 0.3 * (case.begin % 97.0) / 97.0
        grown = np.minimum(1.0, 0.25 + 0.35 * np.searchsorted(self._ends, ticks))
        allocated = limit * share * grown * (1.0 + rng.normal(0.0, 0.003, len(ticks)))
        reserved = np.maximum.accumulate(allocated) * 1.04 if len(ticks) else allocated
        yield self._paced("training.memory.allocated", ticks, allocated)
        yield self._paced("training.memory.reserved", ticks, reserved)
        yield self._paced(
            "training.memory.retries", ticks, np.zeros(len(ticks)), start=attempt.begin
        )

    def _one(self, metric: str, values: np.ndarray, **more: Scalar) -> MetricSeries:
        labels: dict[str, Scalar] = {"rank": self._rank}
        source = self._case.plan.reporter.source
        if source:
            labels["source"] = source
        family: Family = "training"
        number = self._attempt.number
        return MetricSeries(metric, self._host, family, labels | more, self._ends, values, number)

    def _paced(
        self, metric: str, ticks: np.ndarray, values: np.ndarray, start: float | None = None
    ) -> MetricSeries:
        labels: dict[str, Scalar] = {"rank": self._rank}
        number = self._attempt.number
        return MetricSeries(metric, self._host, "training", labels, ticks, values, number, start)


def _values(
    case: CaseSituation, attempt: JobAttempt, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """Return loss and gradient norm over steps and ranks, the rate over steps."""
    curve, records = case.curve, attempt.records
    steps, ranks = len(records.numbers), len(attempt.layout.ranks)
    common = np.exp(rng.normal(0.0, curve.noise, (steps, 1)))
    learnt = records.numbers
    if curve.flat_from < case.end:
        learnt = np.minimum(learnt, learnt[np.searchsorted(records.ends[:-1], curve.flat_from)])
    loss = curve.loss(learnt)[:, None] * common
    norm = curve.grad_norm(records.numbers)[:, None]
    norm = norm * np.exp(rng.normal(0.0, curve.norm_noise, (steps, 1)))
    own = np.ones((steps, ranks))
    if not curve.global_loss:
        own = np.exp(rng.normal(0.0, curve.rank_noise, (steps, ranks)))
        # A pipeline's or tensor group's members see the loss of the same batch.
        replicas = np.array([one.dp for one in attempt.layout.ranks])
        own = own[:, replicas % max(1, ranks)]
    return {
        "loss": loss * own,
        "grad_norm": norm * np.where(own == 1.0, 1.0, own**2),
        "learning_rate": curve.learning_rate(records.numbers),
    }
