"""Healthy cases of the laboratory's simulator, written as the other generators write theirs."""

import json
from pathlib import Path

from rankscope.lab.simulator import days, recording

from .. import otlp_lines


def make(seed: int, folder: Path, *, seconds: float) -> None:
    """Write a healthy job of the laboratory; the same seed gives the same bytes."""
    made = recording.simulate(days.healthy(seed, seconds=seconds), seed)
    scenario = made.scenario
    folder.mkdir(parents=True, exist_ok=True)
    otlp_lines.write(folder / "case.jsonl.gz", made.lines())
    truth: dict[str, object] = {
        "id": folder.name,
        "fault": None,
        "strength": None,
        "onset": None,
        "entity": None,
        "ranks": [],
        "also": [],
        "job": scenario.jobs[0].name,
        "reporter": f"push-{scenario.reporting.push:g}s",
        "minutes": seconds / 60.0,
        "size": scenario.cluster.hosts * scenario.cluster.slots,
    }
    (folder / "truth.json").write_text(json.dumps(truth, indent=1) + "\n", encoding="utf-8")
