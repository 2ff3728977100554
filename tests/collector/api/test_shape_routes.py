"""Routes that answer with shapes: what is written, what OpenAPI says, and what stays FastAPI's."""

import json
import math
from dataclasses import dataclass

import jsonschema
import pytest
from fastapi import FastAPI
from starlette.responses import JSONResponse, Response
from starlette.testclient import TestClient

from rankscope.collector.api import openapi
from rankscope.collector.api.shape_routes import ShapeRouter, component, reference, written
from rankscope.vocabulary import shapes
from rankscope.vocabulary.shapes import DocumentShape


@dataclass(frozen=True, slots=True)
class PingDocument(DocumentShape):
    """A ping."""

    text: str
    seconds: float


@pytest.fixture
def app() -> FastAPI:
    routes = ShapeRouter()

    @routes.get("/one")
    def one(text: str = "one") -> PingDocument:
        return PingDocument(text, 1)

    @routes.get("/soon")
    async def soon() -> PingDocument:
        return PingDocument("soon", math.nan)

    @routes.get("/several")
    def several() -> list[PingDocument]:
        return [PingDocument("a", 1e-7), PingDocument("ä", 2.5)]

    @routes.post("/made", status_code=201)
    def made() -> PingDocument:
        return PingDocument("made", 0.5)

    @routes.get("/later", response_model=PingDocument)
    def later() -> PingDocument | Response:
        return written(PingDocument("later", 0.5), 202)

    @routes.get("/ready", response_model=PingDocument)
    def ready() -> JSONResponse:
        return JSONResponse({"text": "ready"})

    @routes.get("/plain")
    def plain() -> dict[str, int]:
        return {"plain": 1}

    app = FastAPI()
    app.include_router(routes, prefix="/api")
    return app


@pytest.mark.parametrize(
    ("method", "path", "status", "body"),
    [
        ("GET", "/one", 200, '{"text":"one","seconds":1.0}'),
        ("GET", "/one?text=two", 200, '{"text":"two","seconds":1.0}'),
        ("GET", "/soon", 200, '{"text":"soon","seconds":null}'),
        ("GET", "/several", 200, '[{"text":"a","seconds":1e-7},{"text":"ä","seconds":2.5}]'),
        ("POST", "/made", 201, '{"text":"made","seconds":0.5}'),
        ("GET", "/later", 202, '{"text":"later","seconds":0.5}'),
        ("GET", "/ready", 200, '{"text":"ready"}'),
        ("GET", "/plain", 200, '{"plain":1}'),
    ],
)
def test_an_answer_is_written_as_its_shape_says(app, method, path, status, body):
    answer = TestClient(app).request(method, f"/api{path}")
    assert (status, body) == (answer.status_code, answer.text)
    assert "application/json" == answer.headers["content-type"]


def test_openapi_refers_to_the_shape(app):
    paths = app.openapi()["paths"]

    def schema(path: str, method: str = "get", status: str = "200") -> object:
        answer = paths[f"/api{path}"][method]["responses"][status]
        return answer["content"]["application/json"]["schema"]

    ping = {"$ref": "#/components/schemas/Ping"}
    assert ping == reference(PingDocument)
    for path in ("/one", "/soon", "/later", "/ready"):
        assert ping == schema(path)
    assert {"type": "array", "items": ping} == schema("/several")
    assert ping == schema("/made", "post", "201")
    assert "object" == schema("/plain")["type"]  # type: ignore[index]


def test_every_shape_of_the_api_is_described_and_used(client):
    """Nothing is kept that no answer has, and no name stands for two shapes."""
    known = client.get("/openapi.json").json()["components"]["schemas"]
    every = openapi.by_component()
    apart = {"Message"}  # of webhooks and streams
    assert every.keys() - apart <= known.keys()
    assert {component(shape) for shape in every.values()} == every.keys()
    for name in every.keys() - apart:
        own = shapes.properties(every[name], reference)
        assert own == {key: known[name][key] for key in own}


def test_an_answer_that_lacks_a_field_does_not_fit_its_schema(client):
    """What the check of every answer (`test_schema.py`) would see."""
    description = client.get("/openapi.json").json()
    answer = json.loads(client.get("/api/v1/session").text)
    schema = {
        **description["components"]["schemas"]["Session"],
        "components": description["components"],
    }
    jsonschema.validate(answer, schema)
    for name in answer:
        with pytest.raises(jsonschema.ValidationError, match=f"'{name}' is a required property"):
            jsonschema.validate({key: answer[key] for key in answer if key != name}, schema)
