"""A collector in this process, and an incident document with something of everything."""

import copy
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import structlog

from rankscope.collector.service import CollectorService
from rankscope.collector.settings.collector import CollectorSettings
from rankscope.vocabulary.clock import SystemClock

HOST = {"type": "host", "id": "gpu-12", "host": "gpu-12", "ranks": [36, 37]}
EVIDENCE = {
    "relation": "supports",
    "family": "run_queue",
    "entity": HOST,
    "signal": "process.cpu.wait",
    "window": ["2026-03-02T08:00:45.000Z", "2026-03-02T08:01:00.000Z"],
    "observed": 0.8953,
    "expected": 0.1064,
    "weight": 3.0,
    "text": "its ranks wait for a CPU",
}
DOCUMENT: dict[str, Any] = {
    "schema_version": "1.0",
    "id": "0123456789abcdef",
    "job": "train-7b",
    "jobs": ["train-7b"],
    "attempt": 2,
    "cluster": None,
    "status": "open",
    "severity": "warning",
    "opened_at": "2026-03-02T08:00:45.000Z",
    "detected_at": "2026-03-02T08:00:55.000Z",
    "updated_at": "2026-03-02T08:00:55.000Z",
    "resolved_at": None,
    "summary": "CPU contention on gpu-12",
    "symptoms": [
        {
            "kind": "job.slow",
            "entity": {"type": "job", "id": "train-7b", "host": None, "ranks": [36, 37]},
            "onset": "2026-03-02T08:00:45.000Z",
            "magnitude": 1.9,
            "detector": "slow_steps",
            "text": "steps take 0.22 s instead of 0.12 s",
        }
    ],
    "root_cause": {
        "status": "stable",
        "engine": "1",
        "catalogue": "1",
        "hypotheses": [
            {
                "rank": 1,
                "fault": "host.cpu_contention",
                "entity": HOST,
                "score": 8.4,
                "probability": None,
                "confidence": "high",
                "evidence": [
                    EVIDENCE,
                    {
                        **EVIDENCE,
                        "relation": "contradicts",
                        "weight": -0.8,
                        "observed": None,
                        "signal": "container.cpu.throttled",
                        "text": "no quota",
                    },
                    {
                        **EVIDENCE,
                        "relation": "missing",
                        "weight": 0.0,
                        "observed": None,
                        "signal": "system.cpu.steal",
                        "text": "the hypervisor's counter",
                    },
                ],
                "actions": [
                    {"when": "now", "text": "Move it away", "command": "ssh gpu-12 'top -b -n 1'"}
                ],
                "runbook": "docs/runbooks/host.cpu_contention.md",
            },
            {
                "rank": 2,
                "fault": "gpu.slow",
                "entity": {"type": "gpu", "id": "GPU-1", "host": "gpu-12", "ranks": [36]},
                "score": -1.0,
                "probability": 0.05,
                "confidence": "low",
                "evidence": [],
                "actions": [],
                "runbook": "",
            },
        ],
        "unknown": {"score": 1.6, "reasons": ["little was seen"]},
        "next_checks": [
            {
                "text": "Read CPU pressure",
                "command": "cat /proc/pressure/cpu",
                "separates": ["host.cpu_contention", "gpu.slow"],
            }
        ],
        "data_quality": {
            "missing": ["hw.gpu.throttle"],
            "clock_skew_seconds": 0.004,
            "coverage": 0.86,
        },
    },
    "impact": {"ranks": 4, "nodes": 1, "slowdown": 1.9, "gpu_seconds_lost": 242.0},
    "timeline": [{"at": "2026-03-02T08:00:55.000Z", "kind": "opened", "text": "steps are slow"}],
}


@pytest.fixture
def document() -> dict[str, Any]:
    """Return an incident document of the test's own."""
    return copy.deepcopy(DOCUMENT)


@pytest.fixture(scope="session")
def serving():
    """Return a context manager that runs a collector with some settings and gives its address."""

    @contextmanager
    def serve(settings: CollectorSettings) -> Iterator[str]:
        # Its log would come out between the lines of a verb, at whatever moment.
        structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
        service = CollectorService(settings, clock=SystemClock())
        thread = threading.Thread(target=service.serve, daemon=True)
        thread.start()
        assert service.ready.wait(60)
        yield service.address
        service.stop()
        thread.join(60)
        structlog.reset_defaults()

    return serve
