"""Who is notified of what."""

import dataclasses

import pytest

from rankscope.alerts.notify import routing
from rankscope.alerts.notify.routing import RouteMatcher
from rankscope.alerts.ports import NotifiedEndpoint

ENDPOINT = NotifiedEndpoint(id="w", url="http://h/", secret="s", format="standard")


def _document(severity="critical", jobs=("run-1",)):
    entity = {"type": "rank", "id": "3", "host": "gpu-1", "ranks": [3]}
    return {
        "id": "i1",
        "jobs": list(jobs),
        "cluster": None,
        "severity": severity,
        "symptoms": [{"entity": {"type": "job", "id": "run-1", "host": None, "ranks": []}}],
        "root_cause": {"hypotheses": [{"fault": "gpu.slow", "entity": entity}]},
    }


@pytest.mark.parametrize(
    ("endpoint", "kind", "severity", "valid", "expected"),
    [
        ({}, "opened", "critical", False, "opened"),
        ({}, "updated", "warning", False, "opened"),
        ({}, "updated", "warning", True, "updated"),
        ({}, "opened", "info", False, None),
        ({}, "updated", "info", True, None),
        ({}, "resolved", "info", True, "resolved"),
        ({}, "resolved", "info", False, None),
        ({"severities": ("info",)}, "opened", "info", False, "opened"),
        ({"severities": ("info",)}, "opened", "critical", False, None),
        ({"events": ("incident.updated",)}, "updated", "critical", False, "updated"),
        ({"events": ("incident.resolved",)}, "opened", "critical", False, None),
        ({"events": ("incident.resolved",)}, "resolved", "critical", False, "resolved"),
        ({"jobs": ("prod-*",)}, "opened", "critical", False, None),
        ({"jobs": ("run-?",)}, "opened", "critical", False, "opened"),
        ({"enabled": False}, "opened", "critical", False, None),
    ],
)
def test_what_an_endpoint_is_notified_of(endpoint, kind, severity, valid, expected):
    found = routing.wanted(
        dataclasses.replace(ENDPOINT, **endpoint),
        f"incident.{kind}",
        _document(severity),
        valid=valid,
    )
    assert found == (None if expected is None else f"incident.{expected}")


def test_an_incident_is_matched_by_everything_it_touches():
    assert routing.labels(_document()) == {
        "incident": {"i1"},
        "job": {"run-1"},
        "fault": {"gpu.slow"},
        "severity": {"critical"},
        "host": {"gpu-1"},
        "entity": {"job run-1", "rank 3"},
        "cluster": set(),
    }
    assert set(routing.labels(_document())) == set(routing.LABELS)


def test_no_matcher_fits_what_an_incident_does_not_have():
    assert not routing.muted([RouteMatcher("cluster", ("*",))], _document())
    assert routing.muted([RouteMatcher("cluster", ("*",), negate=True)], _document())
