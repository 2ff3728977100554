"""Healthy hours through the real pipeline: what it would have said that it should not.

`python -m rankscope.lab.quiet --hours 24` simulates jobs in which nothing is wrong, an hour each
with its own shape, and prints one line of JSON: the hours, and every incident. The exit code is 0
when none is above info and at most one is info.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

from ..collector.evaluation.schedule import Hooks, Schedule
from ..collector.intake.payloads import Decoded
from ..collector.pipeline import Pipeline
from ..formats.otlp.columns import MetricsBatch
from ..vocabulary.incidents import Incident
from .simulator import days, recording

RUN_ON_SECONDS = 30.0
"""Time runs on for so long after the last delivery, as at the end of a recording."""


def incidents(seed: int, *, seconds: float) -> list[Incident]:
    """Return the final state of every incident that a healthy job of this seed gives.

    Raises what the pipeline raised: a defect is no quiet hour.
    """
    made = recording.simulate(days.healthy(seed, seconds=seconds), seed)
    pipeline = Pipeline()
    found: dict[str, Incident] = {}

    def changed(changes: Sequence[Any], _now: float) -> None:
        found.update({change.incident.id: change.incident for change in changes})

    def failed(_stage: str, error: Exception) -> None:
        raise error

    evaluation = Schedule(pipeline, Hooks(changed=changed, failed=failed))
    now = 0.0
    for at, what in made.batches(pipeline.table):
        now = max(now, at)
        entry = Decoded(metrics=what) if isinstance(what, MetricsBatch) else Decoded(events=what)
        evaluation.apply(entry, now)
    evaluation.until(now + RUN_ON_SECONDS)
    return sorted(found.values(), key=lambda incident: (incident.opened_at, incident.id))


def hours(count: float, *, first: int = 0, piece: float = 1.0) -> Iterator[tuple[int, float]]:
    """Return (seed, seconds) of each healthy job, `piece` hours at most."""
    seed, left = first, count
    while left > 1e-6:
        yield seed, 3600.0 * min(piece, left)
        seed, left = seed + 1, left - piece


def main(words: Sequence[str]) -> int:
    """Run the hours and print what was found; return the exit code."""
    parser = argparse.ArgumentParser(prog="rankscope.lab.quiet", description=__doc__)
    parser.add_argument("--hours", type=float, default=24.0, help="simulated hours in all")
    parser.add_argument("--piece", type=float, default=1.0, help="hours of each job")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first job")
    chosen = parser.parse_args(words)
    begun, rows = time.monotonic(), []
    for seed, seconds in hours(chosen.hours, first=chosen.seed, piece=chosen.piece):
        for incident in incidents(seed, seconds=seconds):
            rows.append({"seed": seed, **_row(incident)})
            print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    above = sum(row["severity"] != "info" for row in rows)
    result = {
        "hours": chosen.hours,
        "seconds": round(time.monotonic() - begun, 1),
        "above_info": above,
        "info": len(rows) - above,
        "incidents": rows,
    }
    print(json.dumps(result))
    return 0 if above == 0 and len(rows) <= 1 else 1


def _row(incident: Incident) -> dict[str, Any]:
    document = incident.document()
    first = document["root_cause"]["hypotheses"][0]
    return {
        "severity": document["severity"],
        "status": document["status"],
        "opened_at": document["opened_at"],
        "symptoms": sorted({row["kind"] for row in document["symptoms"]}),
        "cause": f"{first['fault']} {first['entity']['type']} {first['entity']['id']}",
        "summary": document["summary"],
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
