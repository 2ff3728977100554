"""What the made-up collector answers: one incident, one job on two hosts, its devices and ports."""

import json
from pathlib import Path
from typing import Any

from rankscope.vocabulary import times

ONSET = 1795183385.0
"""2026-11-20T14:03:05Z, the onset in fixtures/incident.json."""

STEPS = 428
HOOK = {"id": "wh_1", "url": "https://chat.example/hook", "format": "slack", "per_minute": 60,
        "events": ["incident.opened"], "jobs": [], "severities": ["critical"], "faults": [],
        "enabled": True, "disabled_reason": None, "origin": "api",
        "created_at": "2026-11-20T10:00:00Z"}  # fmt: skip
DEAD = {"webhook_id": "msg_1", "incident": "5b8e1f0c2a7d4c93", "type": "incident.opened",
        "state": "dead", "created_at": "2026-11-20T14:03:20Z", "due_at": "2026-11-20T14:03:20Z",
        "finished_at": "2026-11-20T14:30:00Z", "attempts": 9, "last_status": 503,
        "last_error": "the receiver is overloaded"}  # fmt: skip

RECORD = {"cause": "gpu.slow", "executor": "slurm", "mode": "act", "planned": 0, "taken": 5,
          "right": 3, "wrong": 1, "undetermined": 1, "vetoed": 2, "withdrawn": 0, "failed": 0,
          "undone": 0}  # fmt: skip

HOSTS = ("gpu-11", "gpu-12")
_NOW = times.rfc3339(ONSET + 85)


def _port(metric: str, number: int, value: float, **more: str) -> dict[str, Any]:
    port = {"device": f"mlx5_{number}", "port": "1", **more}
    return {"metric": metric, "attributes": port, "value": value, "at": _NOW}


_PORTS = [
    *(_port("hw.network.up", number, float(number != 1)) for number in range(4)),
    _port("hw.network.bandwidth.limit", 1, 50e9),
    _port("hw.network.errors", 2, 1730.0, **{"error.type": "symbol_error"}),
    _port("hw.network.errors", 3, 0.0, **{"error.type": "symbol_error"}),
]
NODE: dict[str, Any] = {
    "ranks": {"llm-7b": [2, 3]},
    "readings": [
        {"metric": "system.cpu.steal", "attributes": {}, "value": 0.1, "at": _NOW}, *_PORTS],
    "devices": [
        {"hw_id": "GPU-1", "index": 6, "model": "H100", "job": "llm-7b", "rank": 2, "readings": [
            {"metric": "hw.temperature", "attributes": {"hw.sensor": "gpu"}, "value": 91.0,
             "at": _NOW},
            {"metric": "hw.gpu.throttle", "attributes": {"reason": "thermal_hw"}, "value": 1.0,
             "at": _NOW},
            {"metric": "hw.gpu.nvlink.up", "attributes": {"link": "0"}, "value": 0.0,
             "at": _NOW},
            {"metric": "hw.gpu.pcie.width", "attributes": {}, "value": 8.0, "at": _NOW},
            {"metric": "hw.gpu.pcie.width.max", "attributes": {}, "value": 16.0, "at": _NOW}]},
    ],
}  # fmt: skip
NODE_SERIES: dict[str, Any] = {
    "metric": "hw.temperature",
    "unit": "Cel",
    "series": [
        {
            "attributes": {"hw.id": "GPU-1", "hw.sensor": "gpu"},
            "points": [[times.rfc3339(ONSET + 5 * index), 60 + index] for index in range(20)],
        }
    ],
}
STATS: dict[str, Any] = {
    "incidents": {"open": 1, "acknowledged": 0, "resolved": 2}, "mttd_seconds": 9.0,
    "gpu_hours_lost": 12.5, "lost_by_fault": [
        {"fault": "host.cpu_contention", "gpu_hours": 12.5, "incidents": 3}],
}  # fmt: skip
OPENAPI: dict[str, Any] = {
    "tags": [{"name": "jobs", "description": "What is watched"}],
    "paths": {"/api/v1/jobs": {"get": {
        "tags": ["jobs"], "summary": "List jobs",
        "parameters": [{"name": "cluster", "in": "query", "schema": {
            "anyOf": [{"type": "string"}, {"type": "null"}]}}],
        "responses": {"200": {"content": {"application/json": {"example": {"items": []}}}}},
    }}}
}  # fmt: skip


HOURS: dict[str, float] = {"gpu_hours": 12.5, "low": 11.0, "high": 14.0}


def repair_gain(host: str) -> dict[str, Any]:
    """Return what the repair of a host would bring."""
    now = [{"job": "llm-7b", "an_hour": HOURS}]
    return {"host": host, "incidents": ["a1"], "past": HOURS, "bases": ["phases"], "now": now,
            "an_hour": HOURS}  # fmt: skip


def slowest(by: str) -> dict[str, Any]:
    """Return a job without its slowest two of two hosts, or ranks on them."""
    without = {"step_seconds": 0.5, "low": 0.49, "high": 0.51}
    ranks = [None, None] if by == "host" else [2, 0]
    return {
        "by": by, "basis": "phases", "step_seconds": 0.61, "steps": 64,
        "slowest": [{"rank": rank, "host": host, "behind_seconds": 0.1, "without": without,
                     "an_hour": HOURS} for rank, host in zip(ranks, HOSTS[::-1], strict=True)],
        "without": [{"removed": count, "without": without, "an_hour": HOURS} for count in (1, 2)],
    }  # fmt: skip


def incident(**changes: Any) -> dict[str, Any]:
    """Return the example incident, with top-level changes."""
    return {**fixture("incident"), **changes}


def fixture(name: str) -> dict[str, Any]:
    """Return a document of an endpoint."""
    found: dict[str, Any] = json.loads(
        Path(__file__).with_name("fixtures").joinpath(f"{name}.json").read_text()
    )
    return found


def action(**more: Any) -> dict[str, Any]:
    """Return an action that is planned, or stands otherwise."""
    entity = {"type": "host", "id": "gpu-12", "host": "gpu-12", "ranks": [2, 3]}
    step = {"at": _NOW, "state": "planned", "by": "rankscope", "text": "taking gpu-12 out"}
    row = {"id": "act-1", "incident": "5b8e1f0c2a7d4c93", "cause": "gpu.slow", "entity": entity,
           "host": "gpu-12", "job": "llm-7b", "attempt": 0, "action": "exclude_node",
           "executor": "slurm", "mode": "act", "state": "planned", "at": _NOW, "due_at": _NOW,
           "started_at": None, "ended_at": None, "probability": 0.98, "reason": "planned",
           "outcome": None, "job_step_seconds_before": 1.5, "job_step_seconds_after": 0.8,
           "undo": "", "steps": [step]}  # fmt: skip
    return {**row, **more}
