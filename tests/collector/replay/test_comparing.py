"""What two configurations make of one recording, and what of it counts as a difference."""

import pytest

from rankscope.collector.replay import compared
from rankscope.collector.replay.comparing import ReplayOutcome, compare
from rankscope.collector.replay.replayed import ReplayNotice


def incident(name, opened="2026-01-01T00:00:00Z", *, causes=None, history=(), **fields):
    """Make the part of an incident document that is compared."""
    causes = causes or [("host.cpu_contention", "host-a", 0.9)]
    impact = {"slowdown": 1.2, "gpu_seconds_lost": 100.0}
    return {
        "id": name,
        "job": "train",
        "jobs": ["train"],
        "severity": "warning",
        "status": "resolved",
        "opened_at": opened,
        "detected_at": opened,
        "resolved_at": "2026-01-01T01:00:00Z",
        "summary": "slow",
        "symptoms": [{"kind": "job.slow"}],
        "root_cause": {
            "status": "stable",
            "hypotheses": [
                {
                    "fault": fault,
                    "entity": {"type": "host", "id": host},
                    "probability": probability,
                    "confidence": "medium",
                }
                for fault, host, probability in causes
            ],
        },
        "cause_history": [
            {"at": at, "fault": fault, "entity": {"type": "host", "id": "host-a"}}
            for at, fault in history
        ],
        "impact": impact | {name: fields.pop(name) for name in impact if name in fields},
        **fields,
    }


def differences(old, new):
    return compare(ReplayOutcome(old), ReplayOutcome(new)).differences


def changes(old, new):
    """Return what counts between two incidents that have these fields."""
    found = differences([incident("a", **old)], [incident("a", **new)])
    return dict(found[0].changed) if found else {}


def test_equal_incidents_are_no_difference():
    assert () == differences([incident("a")], [incident("a")])


def test_of_one_incident_the_fields_that_changed_are_listed():
    other = [("host.cpu_contention", "host-b", 0.9)]
    (row,) = differences([incident("a")], [incident("a", severity="info", causes=other)])
    assert "changed" == row.document()["kind"]
    assert {
        "severity": ("warning", "info"),
        "entity": ("host host-a", "host host-b"),
    } == row.changed


def test_an_incident_with_another_onset_is_the_same_if_they_overlap():
    (row,) = differences([incident("a")], [incident("b", opened="2026-01-01T00:00:30Z")])
    assert ("changed", "a", "b") == tuple(row.document()[key] for key in ("kind", "old", "new"))
    assert {"opened_at", "detected_at"} == set(row.changed)


def test_what_only_one_of_them_has_is_gone_or_new_in_order_of_time():
    late = incident("c", opened="2026-01-01T05:00:00Z", resolved_at=None)
    rows = differences([late], [incident("b")])
    assert [("new", "b"), ("gone", "c")] == [
        (row.document()["kind"], row.document()["new"] or row.document()["old"]) for row in rows
    ]


def test_a_first_cause_that_it_had_in_between_is_a_change_and_so_is_since_when_it_has_the_last():
    straight = [("00:01", "unknown"), ("00:02", "gpu.slow"), ("00:12", "gpu.slow")]
    astray = [*straight[:2], ("00:06", "unknown"), ("00:07", "gpu.slow"), ("00:17", "gpu.slow")]
    unknown, slow = "unknown (host host-a)", "gpu.slow (host host-a)"
    assert {
        "cause_history": ([unknown, slow], [unknown, slow, unknown, slow]),
        "cause_since": ("00:02", "00:07"),
    } == changes({"history": straight}, {"history": astray})


def test_other_causes_count_by_their_order_and_from_five_percent_on():
    first = ("gpu.slow", "a", 0.7)
    old = [first, ("gpu.nvlink", "a", 0.15), ("host.hw", "a", 0.14), ("gpu.pcie", "a", 0.01)]
    new = [first, ("host.hw", "a", 0.15), ("gpu.nvlink", "a", 0.14), ("gpu.ecc", "a", 0.01)]
    nvlink, host = "gpu.nvlink (host a)", "host.hw (host a)"
    assert {"other_causes": ([nvlink, host], [host, nvlink])} == changes(
        {"causes": old}, {"causes": new}
    )


@pytest.mark.parametrize(
    ("old", "new", "names"),
    [
        ({"slowdown": 1.22}, {"slowdown": 1.18}, {"slowdown"}),
        ({"slowdown": 1.22}, {"slowdown": 1.21}, set()),
        ({"slowdown": 1.22}, {"slowdown": None}, {"slowdown"}),
        ({"gpu_seconds_lost": 340.0}, {"gpu_seconds_lost": 294.0}, {"gpu_seconds_lost"}),
        ({"gpu_seconds_lost": 340.0}, {"gpu_seconds_lost": 330.0}, set()),
        ({"gpu_seconds_lost": 0.0}, {"gpu_seconds_lost": 0.0}, set()),
        ({"causes": [("x", "a", 0.96)]}, {"causes": [("x", "a", 0.93)]}, set()),
        ({"causes": [("x", "a", 0.96)]}, {"causes": [("x", "a", 0.86)]}, {"probability"}),
        ({"causes": [("x", "a", None)]}, {"causes": [("x", "a", 0.9)]}, {"probability"}),
    ],
)
def test_numbers_count_from_a_bound_on(old, new, names):
    assert names == set(changes(old, new))


def test_when_and_how_often_people_are_notified_counts():
    one, other = (
        ReplayNotice(60.0, "incident.opened", "warning"),
        ReplayNotice(70.0, "incident.updated", "x"),
    )
    (row,) = compare(
        ReplayOutcome([incident("a")], {"a": [one]}),
        ReplayOutcome([incident("a")], {"a": [other, one]}),
    ).differences
    assert {
        "notified_at": ("1970-01-01T00:01:00.000Z", "1970-01-01T00:01:10.000Z"),
        "notices": (["incident.opened warning"], ["incident.updated x", "incident.opened warning"]),
    } == row.changed


def test_what_differs_in_texts_alone_is_counted_and_not_listed():
    found = compare(
        ReplayOutcome([incident("a")]), ReplayOutcome([incident("a", summary="slower")])
    )
    assert ((), 1) == (found.differences, found.alike)
    summary = found.document()
    assert ("summary", 1, 1, 0, 1) == tuple(
        summary[name] for name in ("kind", "before", "after", "differ", "alike")
    )
    assert list(compared.FIELDS) == summary["compared"]
