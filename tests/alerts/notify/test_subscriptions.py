"""Endpoints that subscribe to causes: chosen faults, sure enough, once the cause lasts."""

import dataclasses

import pytest

from rankscope.alerts.notify import routing
from rankscope.alerts.ports import NotifiedEndpoint

ENDPOINT = NotifiedEndpoint(id="w", url="http://h/", secret="s", format="standard")


def _document(fault="gpu.lost", *, status="stable", over=False, **first):
    entity = {"type": "gpu", "id": "GPU-3", "host": "gpu-1", "ranks": [3]}
    row = {"fault": fault, "entity": entity, "probability": None, "confidence": "medium", **first}
    return {
        "id": "i1",
        "jobs": ["run-1"],
        "cluster": None,
        "status": "resolved" if over else "open",
        "severity": "critical",
        "symptoms": [],
        "root_cause": {"status": status, "hypotheses": [row]},
    }


@pytest.mark.parametrize(
    ("endpoint", "document", "expected"),
    [
        ({"faults": ("gpu.lost",)}, _document(), True),
        ({"faults": ("gpu.*",)}, _document(), True),
        ({"faults": ("network.*",)}, _document(), False),
        ({"faults": ("gpu.*",)}, _document(status="confirmed"), True),
        ({"faults": ("gpu.*",)}, _document(status="provisional"), False),
        ({"faults": ("gpu.*",)}, _document(over=True), False),
        ({"faults": ("*",)}, _document("unknown"), False),
        ({"faults": ("unknown",)}, _document("unknown"), True),
        ({"min_probability": 0.9}, _document(probability=0.91), True),
        ({"min_probability": 0.9}, _document(probability=0.89, confidence="high"), False),
        ({"min_probability": 0.9}, _document(confidence="medium"), False),
        ({"min_probability": 0.9}, _document(confidence="high"), True),
        ({"min_probability": 0.9, "min_confidence": "medium"}, _document(), True),
        ({"min_confidence": "high"}, _document(probability=0.99), False),
        ({"min_confidence": "medium"}, _document(), True),
    ],
)
def test_which_causes_an_endpoint_subscribes_to(endpoint, document, expected):
    endpoint = dataclasses.replace(ENDPOINT, **endpoint)
    assert endpoint.subscribes
    assert expected is routing.caused(endpoint, document)
    found = routing.wanted(endpoint, "incident.updated", document, valid=False)
    assert ("incident.opened" if expected else None) == found


def test_an_incident_without_hypotheses_has_no_cause():
    document = _document()
    document["root_cause"]["hypotheses"] = []
    assert not routing.caused(dataclasses.replace(ENDPOINT, faults=("*",)), document)


@pytest.mark.parametrize("kind", ["updated", "acknowledged", "resolved"])
def test_who_was_notified_is_notified_of_whatever_becomes_of_it(kind):
    """A controller that evicted a host must learn that the cause is another now."""
    endpoint = dataclasses.replace(ENDPOINT, faults=("gpu.lost",))
    document = _document("host.cpu_contention")
    found = routing.wanted(endpoint, f"incident.{kind}", document, valid=True)
    assert f"incident.{kind}" == found
