"""The report says everything that the incident document says, in a person's words."""

import copy
from typing import Any

import pytest

from rankscope.cli.report import WIDTH, incident_report

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


@pytest.mark.parametrize(
    "said",
    [
        "INCIDENT 0123456789ab  warning, open  (job train-7b, attempt 2)",
        "CPU contention on gpu-12",
        "since 2026-03-02T08:00:45.000Z, detected 2026-03-02T08:00:55.000Z",
        "1. host.cpu_contention",
        "host gpu-12 (ranks 36, 37)",
        "high confidence, score +8.4",
        "gpu GPU-1 on gpu-12",
        "probability 5%",
        "unknown, score +1.6: little was seen",
        "+  +3.00  its ranks wait for a CPU [process.cpu.wait: 0.8953, expected 0.1064]",
        "-  -0.80  no quota [container.cpu.throttled]",
        "not seen: the hypervisor's counter [system.cpu.steal]",
        "$ ssh gpu-12 'top -b -n 1'",
        "runbook: docs/runbooks/host.cpu_contention.md",
        "separates host.cpu_contention from gpu.slow",
        "$ cat /proc/pressure/cpu",
        "4 ranks on 1 host, 1.90 x slower, 242 GPU-seconds lost so far",
        "08:00:45  job.slow: steps take 0.22 s instead of 0.12 s",
        "08:00:55  steps are slow",
        "absent here: hw.gpu.throttle",
        "86% of the signals",
        "agree within 4 ms",
    ],
)
def test_the_report_says(said):
    assert said in incident_report(DOCUMENT)


def test_lines_fit_the_page():
    long = copy.deepcopy(DOCUMENT)
    long["summary"] = "word " * 80
    long["root_cause"]["hypotheses"][0]["evidence"][0]["text"] = "word " * 80
    assert max(len(line) for line in incident_report(long).splitlines()) <= WIDTH


def test_a_command_is_never_broken():
    long = copy.deepcopy(DOCUMENT)
    command = "ssh gpu-12 " + "grep -H something /a/long/path " * 6
    long["root_cause"]["hypotheses"][0]["actions"][0]["command"] = command
    assert f"    $ {command}".rstrip() in incident_report(long)


def test_no_cause_and_a_stopped_job_have_words_too():
    bare = copy.deepcopy(DOCUMENT)
    bare["root_cause"]["hypotheses"] = []
    bare["root_cause"]["next_checks"] = []
    bare["impact"]["slowdown"] = None
    bare["resolved_at"] = "2026-03-02T09:00:00.000Z"
    report = incident_report(bare)
    assert "unknown, score +1.6" in report
    assert "training is stopped" in report
    assert "resolved 2026-03-02T09:00:00.000Z" in report
    assert "Evidence" not in report
    assert "Actions" not in report


def test_a_cause_that_nothing_contradicts_says_so():
    clean = copy.deepcopy(DOCUMENT)
    del clean["root_cause"]["hypotheses"][0]["evidence"][1:]
    assert "Nothing seen contradicts it." in incident_report(clean)
    assert "Nothing seen contradicts it." not in incident_report(DOCUMENT)
