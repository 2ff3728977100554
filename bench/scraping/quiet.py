"""Healthy hours of scraped clusters through the pipeline: whatever is reported above info is false.

Every hour is drawn from its seed: the job of a healthy hour of the laboratory, of which only
exporters speak, the size of the cluster, and the habits of the site (15, 30 or 60 s between
scrapes; polled or sent).
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rankscope.collector.evaluation.schedule import EvaluationSchedule, ScheduleHooks
from rankscope.collector.intake.payloads import DecodedPayload
from rankscope.collector.pipeline.pipeline import DetectionPipeline
from rankscope.formats.remote_write import RemoteWriteDecoder
from rankscope.lab.simulator import days, recording
from rankscope.lab.simulator.shape import SimulationScenario
from rankscope.vocabulary.incidents import Incident

from ..live import scraped
from .scrapes import ScrapeHabits, arrivals

INTERVALS = (15.0, 30.0, 60.0)
PERIODS = (10.0, 15.0, 30.0)
"""How often exporters read their devices: dcgm-exporter's default is 30 s."""

RUN_ON_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class QuietHour:
    """One healthy hour: what was reported of it, and what it cost."""

    seed: int
    text: str
    habits: ScrapeHabits
    samples: int
    incidents: tuple[Incident, ...]
    cpu_seconds: float

    @property
    def false(self) -> tuple[Incident, ...]:
        """Return the incidents above info: there is nothing wrong."""
        return tuple(one for one in self.incidents if one.severity != "info")

    def document(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            "seed": self.seed,
            "text": self.text,
            "interval_seconds": self.habits.interval,
            "polled": self.habits.polled,
            "samples": self.samples,
            "cpu_seconds": round(self.cpu_seconds, 2),
            "info": len(self.incidents) - len(self.false),
            "false": [
                {
                    "severity": one.severity,
                    "summary": one.summary,
                    "detectors": sorted({row.detector for row in one.symptoms}),
                }
                for one in self.false
            ],
        }


def drawn(
    seed: int, *, seconds: float = 3600.0, interval: float | None = None
) -> tuple[SimulationScenario, ScrapeHabits]:
    """Return the job and the habits of an hour; `interval`: not drawn but this one."""
    random = np.random.default_rng([seed, 71])
    scenario = days.healthy(seed, seconds=seconds)
    cluster = replace(scenario.cluster, gpus=True)
    if random.random() < 0.5 and not scenario.jobs[0].sizes:
        cluster = replace(cluster, hosts=int(random.choice([4, 8])), slots=8)
    scenario = replace(scenario, cluster=cluster)
    scenario = scraped.as_scraped(scenario, period=float(random.choice(PERIODS)))
    habits = ScrapeHabits(
        interval=float(random.choice(INTERVALS)),
        missed=float(random.choice([0.0, 0.002, 0.02])),
        restarts=float(random.choice([0.0, 0.3, 1.0])),
        capped=float(random.choice([0.0, 0.05, 0.3])),
        polled=bool(random.random() < 0.5),
    )
    return scenario, replace(habits, interval=interval) if interval else habits


def hour(seed: int, *, seconds: float = 3600.0, interval: float | None = None) -> QuietHour:
    """Run one hour; return what was reported."""
    began = time.process_time()
    scenario, habits = drawn(seed, seconds=seconds, interval=interval)
    made = recording.simulate(scenario, seed)
    random = np.random.default_rng([seed, 72])
    pipeline = DetectionPipeline()
    found: dict[str, Incident] = {}
    worst: dict[str, Incident] = {}

    def changed(changes: Sequence[Any], _now: float) -> None:
        for change in changes:
            found[change.incident.id] = change.incident
            if change.incident.severity != "info":
                worst[change.incident.id] = change.incident

    evaluation = EvaluationSchedule(pipeline, ScheduleHooks(changed=changed, failed=_raise))
    decoder = RemoteWriteDecoder(pipeline.table)
    samples, now = 0, 0.0
    for one in arrivals(list(scraped.exported(made)), habits, seconds=seconds, random=random):
        samples, now = samples + one.samples, one.at
        evaluation.apply(DecodedPayload(metrics=decoder.plain(one.body)), now)
    evaluation.until(now + RUN_ON_SECONDS)
    return QuietHour(
        seed,
        f"{scenario.text}, {scenario.cluster.hosts} x {scenario.cluster.slots} devices",
        habits,
        samples,
        tuple({**found, **worst}.values()),
        time.process_time() - began,
    )


def _raise(_stage: str, error: Exception) -> None:
    raise error
