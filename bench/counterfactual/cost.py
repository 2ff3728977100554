"""What the meter costs evaluation: a large simulated job in trouble, with the meter and without."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np

from rankscope.collector.evaluation.schedule import EvaluationSchedule, ScheduleHooks
from rankscope.collector.intake.payloads import DecodedPayload
from rankscope.collector.pipeline.counterfactuals import compared
from rankscope.collector.pipeline.pipeline import DetectionPipeline
from rankscope.collector.windows.matrices import newest_window
from rankscope.detectors.counterfactual.slowest import Place, without_slowest
from rankscope.detectors.sketch import sketch
from rankscope.detectors.window import JobWindow
from rankscope.formats.otlp.columns import MetricsBatch
from rankscope.lab import layouts
from rankscope.lab.simulator import recording

PER_HOST = 8


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

    pipeline = DetectionPipeline()
    with mock.patch("rankscope.collector.pipeline.pipeline.compared", timed):
        total = _played(made, pipeline)
    window = newest_window(pipeline.windows, made.scenario.jobs[0].name)
    return {
        "ranks": ranks,
        "evaluation_cpu_seconds": round(total, 3),
        "meter_asked": spent.asked,
        "meter_cpu_seconds": round(spent.seconds, 4),
        "meter_longest_seconds": round(spent.longest, 4),
        "ratio": round(total / (total - spent.seconds), 4),
        "slowest_cpu_seconds": None if window is None else slowest_seconds(window),
    }


def slowest_cost(ranks: int, steps: int = 64) -> dict[str, Any]:
    """Return CPU seconds of one look at a drawn job without its slowest hosts and ranks."""
    random = np.random.default_rng(1)
    own = random.lognormal(0.0, 0.015, (ranks, steps))
    own[: 2 * PER_HOST] *= 1.3
    window = sketch(own, hosts=-(-ranks // PER_HOST))
    return {"ranks": ranks, "slowest_cpu_seconds": slowest_seconds(window)}


def slowest_seconds(window: JobWindow) -> dict[str, float]:
    """Return CPU seconds of looking at a job without its slowest hosts, and ranks."""
    found: dict[str, float] = {}
    places: tuple[Place, ...] = ("host", "rank")
    # What detectors use of a window is there before anybody asks.
    ready = bool(len(window.features.step_ends) and len(window.features.duration))
    for place in places if ready else ():
        began = time.process_time()
        without_slowest(window, place)
        found[place] = round(time.process_time() - began, 4)
    return found


def _played(made: recording.SimulatedRecording, pipeline: DetectionPipeline) -> float:
    """Return the CPU seconds that applying what arrives and evaluating it takes."""
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
