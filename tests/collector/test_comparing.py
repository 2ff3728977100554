"""What two configurations make of one recording."""

import pytest

from rankscope.collector.comparing import differences


@pytest.fixture
def incident():
    """Return a function that makes the part of an incident document that is compared."""

    def make(name, opened="2026-01-01T00:00:00Z", **fields):
        entity = {"type": "host", "id": fields.pop("host", "host-a")}
        fault = fields.pop("fault", "host.cpu_contention")
        return {
            "id": name,
            "job": "train",
            "severity": "warning",
            "status": "resolved",
            "opened_at": opened,
            "detected_at": opened,
            "resolved_at": "2026-01-01T01:00:00Z",
            "summary": "slow",
            "symptoms": [{"kind": "job.slow"}],
            "root_cause": {"hypotheses": [{"fault": fault, "entity": entity}]},
            **fields,
        }

    return make


def test_equal_incidents_are_no_difference(incident):
    assert [] == differences([incident("a")], [incident("a")])


def test_of_one_incident_the_fields_that_changed_are_listed(incident):
    (row,) = differences([incident("a")], [incident("a", severity="info", host="host-b")])
    assert "changed" == row.document()["kind"]
    assert {
        "severity": ("warning", "info"),
        "entity": ("host host-a", "host host-b"),
    } == row.changed


def test_an_incident_with_another_onset_is_the_same_if_they_overlap(incident):
    (row,) = differences([incident("a")], [incident("b", opened="2026-01-01T00:00:30Z")])
    assert ("changed", "a", "b") == tuple(row.document()[key] for key in ("kind", "old", "new"))
    assert {"opened_at", "detected_at"} == set(row.changed)


def test_what_only_one_of_them_has_is_gone_or_new_in_order_of_time(incident):
    late = incident("c", opened="2026-01-01T05:00:00Z", resolved_at=None)
    rows = differences([late], [incident("b")])
    assert [("new", "b"), ("gone", "c")] == [
        (row.document()["kind"], row.document()["new"] or row.document()["old"]) for row in rows
    ]
