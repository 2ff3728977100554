"""The OpenAPI document: its examples are what it says."""

import json

import jsonschema
import pytest

from rankscope.collector.api import openapi


@pytest.fixture
def description(client):
    return client.get("/openapi.json").json()


def test_an_example_fits_its_schema(description):
    assert openapi.examples()
    for name, example in openapi.examples().items():
        try:
            fits(description, name, example)
        except Exception as error:
            error.add_note(name)
            raise


def fits(description, name, example):
    """Hold an example against the schema of its operation."""
    method, path = name.split(" ")
    operation = description["paths"][path][method.lower()]
    parts = {
        "request": operation.get("requestBody", {}),
        "answer": next(
            answer for status, answer in operation["responses"].items() if status.startswith("2")
        ),
    }
    for kind, text in example.items():
        content = parts[kind]["content"]["application/json"]
        assert content["example"] == json.loads(text)
        schema = {**content["schema"], "components": description["components"]}
        jsonschema.validate(content["example"], schema)


def test_examples_of_what_people_do_are_taken(client, opened, planned):
    incident = opened()
    actions = {"veto": planned("ab"), "undo": planned("cd", done=True, job="run-2", host="h2")}
    for name, example in openapi.examples().items():
        method, path = name.split(" ")
        if method == "POST":
            answer = client.post(
                path.format(incident=incident, action=actions.get(path.rpartition("/")[2])),
                json=json.loads(example["request"]),
            )
            assert answer.status_code in (200, 201, 202), f"{name}: {answer.text}"


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/api/v1/nothing", 404),
        ("PUT", "/api/v1/jobs", 405),
        ("POST", "/api/v1/silences", 422),
    ],
)
def test_every_error_is_a_problem_document(client, method, path, status):
    answer = client.request(method, path, json={})
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["status"] == status
