"""What the meter costs evaluation: a large simulated job in trouble, with the meter and without."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from unittest import mock

from rankscope.collector.evaluation.schedule import EvaluationSchedule, ScheduleHooks
from rankscope.collector.intake.payloads import DecodedPayload
from rankscope.collector.pipeline.counterfactuals import compared
from rankscope.collector.pipeline.pipeline import DetectionPipeline
from rankscope.formats.otlp.columns import MetricsBatch
from rankscope.lab import layouts
from rankscope.lab.simulator import recording


@dataclass(slots=True)
class MeterTime:
    """How often the meter was asked and how long it took (s of CPU)."""

    asked: int = 0
    seconds: float = 0.0
    longest: float = 0.0


def cost(ranks: int, kind: str = "slow_gpu", seed: int = 1) -> dict[str, Any]:
    """Return CPU seconds of evaluation of a job in trouble, and the meter's part of them."""
    scenario = layouts.scenario(kind, kind, ranks, seed=seed, strength="plain")
    made = recording.simulate(scenario, seed)
    spent = MeterTime()

    def timed(*given: Any) -> Any:
        began = time.process_time()
        found = compared(*given)
        took = time.process_time() - began
        spent.asked += 1
        spent.seconds += took
        spent.longest = max(spent.longest, took)
        return found

    with mock.patch("rankscope.collector.pipeline.pipeline.compared", timed):
        total = _played(made)
    return {
        "ranks": ranks,
        "evaluation_cpu_seconds": round(total, 3),
        "meter_asked": spent.asked,
        "meter_cpu_seconds": round(spent.seconds, 4),
        "meter_longest_seconds": round(spent.longest, 4),
        "ratio": round(total / (total - spent.seconds), 4),
    }


def _played(made: recording.SimulatedRecording) -> float:
    """Return the CPU seconds that applying what arrives and evaluating it takes."""
    pipeline = DetectionPipeline()
    schedule = EvaluationSchedule(pipeline, ScheduleHooks(changed=_taken, failed=_raise))
    now, spent = 0.0, 0.0
    for at, what in made.batches(pipeline.table):
        now = max(now, at)
        payload = (
            DecodedPayload(metrics=what)
            if isinstance(what, MetricsBatch)
            else DecodedPayload(events=what)
        )
        began = time.process_time()
        schedule.apply(payload, now)
        spent += time.process_time() - began
    return spent


def _taken(_changes: Sequence[object], _now: float) -> None:
    """Take changes, as a store would."""


def _raise(_stage: str, error: Exception) -> None:
    raise error
