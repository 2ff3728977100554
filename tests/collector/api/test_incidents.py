"""Incidents over HTTP: the document of the contract, filters, pages, and what people do."""

import jsonschema
import pytest
from tests.examples import told

from rankscope.collector.api import shapes_incident
from rankscope.vocabulary import incident_schema


def test_the_document_is_the_contracts_with_what_people_did(client, opened):
    identity = opened()
    document = client.get(f"/api/v1/incidents/{identity}").json()
    jsonschema.validate(document, incident_schema.schema())
    shapes_incident.Incident.model_validate(document, strict=False)
    assert document["handling"] == {
        "acknowledged": None,
        "assignee": None,
        "resolved": None,
        "feedback": [],
    }
    assert client.get("/api/v1/incidents").json() == {"items": [document], "next_cursor": None}


def test_openapi_shows_every_field_of_the_documents_schema():
    """The shapes are written for OpenAPI; the schema is the vocabulary's own."""

    def names(schema, defs):
        schema = defs[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
        if schema.get("type") == "array" or "items" in schema:
            return names(schema["items"], defs) if isinstance(schema.get("items"), dict) else {}
        return {
            name: names(inner, defs)
            for name, inner in schema.get("properties", {}).items()
            if name != "handling"
        }

    published = incident_schema.schema()
    shown = shapes_incident.Incident.model_json_schema()
    assert names(shown, shown["$defs"]) == names(published, published["$defs"])


def test_causes_and_timeline_are_parts_of_the_document(client, opened):
    identity = opened()
    document = client.get(f"/api/v1/incidents/{identity}").json()
    causes = client.get(f"/api/v1/incidents/{identity}/root-cause").json()
    assert causes == document["root_cause"]
    timeline = client.get(f"/api/v1/incidents/{identity}/timeline").json()
    assert timeline == {"items": document["timeline"], "next_cursor": None}


def test_pages_are_followed_with_the_cursor(client, opened):
    expected = [opened(identity=f"{number}", at=1_700_000_000.0 + number) for number in range(7)]
    found, cursor = [], None
    while True:
        params = {"limit": 3} | ({"cursor": cursor} if cursor else {})
        page = client.get("/api/v1/incidents", params=params).json()
        found += [row["id"] for row in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert found == expected[::-1]


def test_filters(client, opened):
    tried = [
        ("status=open", 1),
        ("status=resolved", 1),
        ("status=acknowledged", 0),
        ("job=run-2", 1),
        ("severity=warning", 1),
        ("fault=gpu.slow", 1),
        ("fault=host.cpu_contention&job=run-1", 1),
        ("since=2023-11-14T22:13:21Z", 2),
        ("since=1700000500", 1),
    ]
    opened(identity="a", severity="warning")
    opened(
        "resolved", identity="b", jobs=("run-2",), fault="gpu.slow", status="resolved",
        updated_at=1_700_000_600.0,
    )  # fmt: skip
    for query, count in tried:
        with told(query=query, count=count):
            assert len(client.get(f"/api/v1/incidents?{query}").json()["items"]) == count


def test_people_acknowledge_assign_judge_and_resolve(client, opened, clock):
    path = f"/api/v1/incidents/{opened()}"
    clock.at += 60
    answers = [
        client.post(f"{path}/ack", json={"by": "ada", "note": "looking"}),
        client.post(f"{path}/assign", json={"by": "ada", "assignee": "bob"}),
        client.post(
            f"{path}/feedback",
            json={"by": "bob", "verdict": "wrong", "fault": "gpu.slow", "entity": "gpu 7"},
        ),
        client.post(f"{path}/resolve"),
    ]
    assert [answer.status_code for answer in answers] == [200] * 4
    document = client.get(path).json()
    assert document == answers[-1].json()
    assert document["status"] == "resolved"
    assert document["handling"]["acknowledged"]["by"] == "ada"
    assert document["handling"]["assignee"] == "bob"
    assert document["handling"]["feedback"][0]["verdict"] == "wrong"
    assert document["handling"]["resolved"]["by"] == "somebody"
    jsonschema.validate(document, incident_schema.schema())


def test_what_makes_no_sense_is_refused_and_changes_nothing(client, opened):
    tried: list[tuple[str, object]] = [
        ("assign", None),
        ("assign", {"assignee": ""}),
        ("feedback", {"verdict": "maybe"}),
        ("feedback", {"verdict": "wrong", "fault": "gpu.tired"}),
        ("ack", {"by": "a" * 500}),
        ("ack", {"byy": "a"}),
        ("ack", []),
    ]
    path = f"/api/v1/incidents/{opened()}"
    before = client.get(path).json()
    for what, body in tried:
        with told(what=what, body=body):
            assert client.post(f"{path}/{what}", json=body).status_code == 422
            assert client.get(path).json() == before


def test_statistics_are_means_of_what_happened_and_null_before(client, opened, clock, send_steps):
    assert client.get("/api/v1/stats").json()["mttr_seconds"] is None
    first = opened(identity="a", lost=1800.0)
    opened(
        "resolved", identity="b", fault="gpu.slow", status="resolved", lost=7200.0,
        updated_at=1_700_000_600.0,
    )  # fmt: skip
    clock.at = 1_700_000_065.0
    client.post(f"/api/v1/incidents/{first}/ack")
    stats = client.get("/api/v1/stats").json()
    assert stats["incidents"] == {"open": 0, "acknowledged": 1, "resolved": 1}
    assert (stats["mttd_seconds"], stats["mtta_seconds"], stats["mttr_seconds"]) == (5, 60, 60)
    assert stats["gpu_hours_lost"] == 2.5
    assert stats["lost_by_fault"] == [
        {"fault": "gpu.slow", "gpu_hours": 2.0, "incidents": 1},
        {"fault": "host.cpu_contention", "gpu_hours": 0.5, "incidents": 1},
    ]
    later = client.get("/api/v1/stats?since=2024-01-01T00:00:00Z").json()
    assert (later["mttd_seconds"], later["gpu_hours_lost"]) == (None, 0.0)


@pytest.fixture
def reads(store, monkeypatch):
    """Return a list with an entry for each time that documents are read from the store."""
    seen = []
    for name in ("incident", "incidents"):
        really = getattr(store, name)

        def read(*given, _really=really, _name=name, **more):
            seen.append(_name)
            return _really(*given, **more)

        monkeypatch.setattr(store, name, read)
    return seen


def test_documents_are_made_again_only_after_an_incident_changed(client, opened, reads, clock):
    first = opened(identity="a")
    pages = ("/api/v1/incidents", f"/api/v1/incidents/{first}")
    before = [client.get(page).json() for page in pages]
    assert ["incidents", "incident"] == reads
    assert before == [client.get(page).json() for page in pages]
    assert ["incidents", "incident"] == reads
    opened("updated", identity="a", lost=500.0, updated_at=clock.at + 9)
    after = [client.get(page).json() for page in pages]
    assert 500.0 == after[1]["impact"]["gpu_seconds_lost"]
    assert [after[1]] == after[0]["items"]


def test_an_answer_to_one_token_is_not_given_to_another(new_client, protected, bearer, opened):
    client = new_client(**protected)
    hidden = opened(identity="b", jobs=("prod-1",))
    assert 1 == len(client.get("/api/v1/incidents", headers=bearer("read")).json()["items"])
    assert [] == client.get("/api/v1/incidents", headers=bearer("run-1")).json()["items"]
    assert 200 == client.get(f"/api/v1/incidents/{hidden}", headers=bearer("read")).status_code
    assert 404 == client.get(f"/api/v1/incidents/{hidden}", headers=bearer("run-1")).status_code
