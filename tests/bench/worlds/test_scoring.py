"""How a made-up answer is counted."""

from typing import Any

import pytest

from bench.worlds import report, scoring
from bench.worlds.scoring import WorldScore

BEGIN = 1_796_000_000.0


def truth(**changes: Any) -> dict[str, Any]:
    """Return the truth of a slow device of rank 3 on host a."""
    return {
        "id": "40-gpu.slow",
        "fault": "gpu.slow",
        "strength": "plain",
        "entity": {"type": "gpu", "id": "GPU-3", "host": "a"},
        "also": [],
        "ranks": [3],
        "onset": BEGIN + 240.0,
        "habits": {},
        "reporter": "full",
    } | changes


def quiet() -> dict[str, Any]:
    """Return the truth of a healthy case."""
    return truth(fault=None, strength=None, entity=None, ranks=[], onset=None)


def incident(fault: str, entity: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Return as much of an incident document as is scored."""
    cause = {"fault": fault, "entity": entity, "probability": 0.9, "score": 3.0}
    return {
        "severity": "warning",
        "opened_at": "2026-11-30T00:57:30Z",  # 250 s after BEGIN
        "job": "llm",
        "summary": "",
        "root_cause": {"hypotheses": [cause], "unknown": {"score": 0.5}},
    } | changes


def among(*causes: tuple[str, dict[str, Any], float]) -> dict[str, Any]:
    """Return an incident with these hypotheses, each with its score."""
    rows = [
        {"fault": fault, "entity": entity, "probability": 0.9, "score": score}
        for fault, entity, score in causes
    ]
    return incident("", GPU, root_cause={"hypotheses": rows, "unknown": {"score": 0.5}})


GPU = {"type": "gpu", "id": "GPU-3", "host": "a", "ranks": [3]}
RANK = {"type": "rank", "id": "3", "host": "a", "ranks": [3]}
HOST = {"type": "host", "id": "a", "host": "a", "ranks": ["0-7"]}
OTHER = {"type": "rank", "id": "5", "host": "a", "ranks": [5]}
JOB = {"type": "job", "id": "llm", "host": None, "ranks": ["0-15"]}


@pytest.mark.parametrize(
    ("fault", "entity", "expected"),
    [
        ("gpu.slow", GPU, (True, True, True, 0)),
        ("gpu.slow", RANK, (True, True, True, 0)),
        ("gpu.power_limited", HOST, (True, False, True, 0)),
        ("unknown", JOB, (True, False, False, 0)),
        ("gpu.slow", OTHER, (True, True, False, 0)),
        ("gpu.thermal_throttle", OTHER, (False, False, False, 1)),
    ],
)
def test_an_answer_is_found_right_and_at_the_right_place(
    fault: str, entity: dict[str, Any], expected: tuple[bool, bool, bool, int]
):
    score = scoring.scored(truth(), [incident(fault, entity)])
    assert expected == (score.found, score.right, score.right_entity, len(score.false))


def test_what_opened_long_before_the_onset_is_false():
    early = incident("gpu.slow", GPU, opened_at="2026-11-30T00:54:00Z")
    score = scoring.scored(truth(), [early])
    assert (False, 1) == (score.found, len(score.false))


def test_an_incident_of_a_healthy_case_is_false_and_a_wrong_answer():
    score = scoring.scored(quiet(), [incident("memory.host_leak", RANK)])
    assert (1, [(0.9, False)]) == (
        len(score.false),
        [(one.probability, one.right) for one in score.answers],
    )


def test_figures_of_a_found_a_missed_and_a_healthy_case():
    world = WorldScore(
        [
            scoring.scored(truth(), [incident("gpu.slow", GPU)]),
            scoring.scored(truth(strength="weak"), []),
            scoring.scored(
                quiet(), [incident("unknown", JOB), incident("gpu.slow", GPU, severity="info")]
            ),
        ]
    )
    found = world.figures()
    assert 0.5 == found["recall"]
    assert 0.5 == found["precision"]
    assert (1.0, 0.0) == (found["recall_plain"], found["recall_weak"])
    assert (1.0, 1.0, 1.0) == (
        found["first_cause_of_found"], found["entity_of_found"], found["one_incident"],
    )  # fmt: skip
    assert (2.0, 1.0) == (
        found["false_per_quiet_case"], found["false_above_info_per_quiet_case"],
    )  # fmt: skip
    assert "gpu.slow" in report.text(world)


def test_calibration_is_off_by_the_difference_of_each_bin():
    answers = [(0.9, True), (0.95, False), (0.15, False)]
    assert scoring.calibration_error(answers) == pytest.approx((0.85 + 0.15) / 3)
    assert None is scoring.calibration_error([])


def test_few_answers_differ_from_their_probabilities_by_chance_alone():
    """One answer at a half is off by a half; four of them by three quarters of one on average."""
    assert scoring.error_by_chance([0.5]) == pytest.approx(0.5)
    assert scoring.error_by_chance([0.5] * 4) == pytest.approx(0.75 / 4)
    assert scoring.error_by_chance([1.0, 0.0]) == pytest.approx(0.0)
    assert None is scoring.error_by_chance([])


@pytest.mark.parametrize(
    ("others", "lead"),
    [
        pytest.param([], 2.5, id="nothing but unknown"),
        pytest.param([("gpu.slow", RANK, 2.9)], 2.5, id="the same at a place that overlaps"),
        pytest.param([("gpu.slow", OTHER, 2.0)], 1.0, id="the same elsewhere"),
        pytest.param([("host.cpu_contention", HOST, 2.6)], 0.4, id="another fault there"),
    ],
)
def test_the_lead_is_that_over_other_faults_and_other_places(others, lead):
    (answer,) = scoring.scored(quiet(), [among(("gpu.slow", GPU, 3.0), *others)]).answers
    assert pytest.approx(lead) == answer.lead
