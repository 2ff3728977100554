"""Webhooks of an Alertmanager as events: which alerts, about what, and since when."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankscope.formats import alertmanager
from rankscope.formats.otlp.errors import UndecodableError


def _read(*alerts):
    return alertmanager.read(json.dumps({"version": "4", "alerts": alerts}).encode())


def _alert(labels, status="firing", **more):
    return {
        "status": status,
        "labels": {"alertname": "NodeDiskFull", **labels},
        "annotations": {"description": "97% used"},
        "startsAt": "2023-11-14T22:13:20.123456789Z",
        "endsAt": "2023-11-14T22:23:20Z" if status == "resolved" else "0001-01-01T00:00:00Z",
        "fingerprint": "00ff",
        **more,
    }


@pytest.mark.parametrize(
    ("labels", "host", "job"),
    [
        ({"host": "gpu-1"}, "gpu-1", None),
        ({"instance": "gpu-1:9100"}, "gpu-1", None),
        ({"instance": "[fd00::1]:9100"}, "fd00::1", None),
        ({"instance": "gpu-1"}, "gpu-1", None),
        ({"node": "gpu-1", "instance": "10.0.0.7:8080"}, "gpu-1", None),
        ({"job_id": "run-1"}, "", "run-1"),
        ({"job": "node", "job_id": "run-1", "host_name": "gpu-1"}, "gpu-1", "run-1"),
        ({"job": "run-1"}, "", "run-1"),
    ],
)
def test_an_alert_is_about_the_host_or_job_that_its_labels_name(labels, host, job):
    ((resource, (event,)),) = _read(_alert(labels)).groups
    assert (host, job) == (resource.host, resource.job)
    assert {
        "name": "NodeDiskFull",
        "status": "firing",
        "fingerprint": "00ff",
        "text": "97% used",
    } == dict(event.attributes)


def test_a_resolved_alert_happened_when_it_ended():
    events = [
        row[1][0] for row in _read(_alert({"host": "a"}), _alert({"host": "a"}, "resolved")).groups
    ]
    assert [("firing", 1_700_000_000.0), ("resolved", 1_700_000_600.0)] == [
        (event.attributes["status"], float(int(event.at))) for event in events
    ]


@pytest.mark.parametrize("labels", [{}, {"alertname": "RankscopeIncident", "host": "gpu-1"}])
def test_alerts_about_nothing_and_our_own_are_left_out(labels):
    found = _read(_alert(labels))
    assert ([], 1) == (found.groups, found.left_out)


def test_keys_that_are_missing_or_unknown_are_fine():
    found = _read({"labels": {"host": "a"}, "startsAt": "2023-11-14T22:13:20Z", "values": {"A": 1}})
    assert 1 == len(found.groups)


def test_a_time_that_is_none_is_refused_with_its_place():
    with pytest.raises(UndecodableError, match=r"alerts\[0\].startsAt: write RFC 3339"):
        _read(_alert({"host": "a"}, startsAt="yesterday"))


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.dictionaries(st.sampled_from(["labels", "annotations", "status", "startsAt"]), json_values)
)
def test_nothing_raises_anything_else(alert):
    with contextlib.suppress(UndecodableError):
        _read(alert)
