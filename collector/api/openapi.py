"""/openapi.json as it really is: errors are problem documents, whatever the framework assumes."""

import inspect
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from ...vocabulary import (
    counterfactuals,
    entities,
    handling,
    incidents,
    inspection,
    observations,
    profiling,
    shapes,
    tables,
)
from ...vocabulary.answers import (
    causes,
    checks,
    collectives,
    costs,
    figures,
    gains,
    history,
    hosts,
    jobs,
    notifications,
    profiles,
    remedies,
    service,
)
from ...vocabulary.shapes import DocumentShape
from . import problems, shape_routes

_MODULES = (counterfactuals, entities, handling, incidents, inspection, observations, profiling,
            causes, checks, collectives, costs, figures, gains, history, hosts, jobs, notifications,
            profiles, remedies, service)  # fmt: skip
_PROBLEM = {
    "description": "What went wrong, as a problem document (RFC 9457)",
    "content": {problems.MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
}
_REFERENCE = re.compile(r"#/components/schemas/(\w+)")
_ASSUMED = ("HTTPValidationError", "ValidationError")
_TAGS = {
    "incidents": "What broke, where, how sure, on what evidence; what people do about it; what was "
    "seen besides",
    "actions": "What was done about causes, or would have been; a veto before it, an undo after it",
    "checks": "What hosts measured of themselves, and what others of their kind measure",
    "jobs": "What is watched: jobs, their ranks, series and collectives",
    "hosts": "The nodes that report, their devices, and what runs there",
    "stats": "Times and costs; agents for Prometheus to discover",
    "history": "Repeat offenders, and what people did",
    "profiles": "Profiles of single ranks: asked for, taken by agents, compared",
    "silences": "Silences and maintenance: deliveries that are held back",
    "webhooks": "Who is notified, and what was delivered",
    "ingest": "Telemetry comes in: OTLP, Prometheus remote write, alerts of an Alertmanager",
    "health": "The collector itself, and the token that asks",
}
"""What operations are about, in the order in which a reader meets them."""


def described(app: FastAPI) -> Callable[[], dict[str, Any]]:
    """Return the function that gives the application's description, made once."""

    def describe() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _describe(app)
        return app.openapi_schema

    return describe


@dataclass(frozen=True, slots=True)
class _OperationExample:
    request: str = ""
    answer: str = ""


@cache
def examples() -> Mapping[str, Mapping[str, str]]:
    """Return JSON texts by operation ("GET /api/v1/jobs"): `request` and `answer`."""
    package, name = __package__ or "", "examples.toml"
    file = tables.shown(package, name)
    operations = tables.parsed(tables.text(package, name), file)
    rows = {
        key: tables.row(_OperationExample, row, f"{file}, {key}") for key, row in operations.items()
    }
    return {
        key: {
            part: text for part, text in (("request", row.request), ("answer", row.answer)) if text
        }
        for key, row in rows.items()
    }


def _show(operation: dict[str, Any], example: Mapping[str, str]) -> None:
    """Put the examples of an operation into its description."""
    if "request" in example:
        operation["requestBody"]["content"]["application/json"]["example"] = json.loads(
            example["request"]
        )
    if "answer" in example:
        done = min(status for status in operation["responses"] if status.startswith("2"))
        operation["responses"][done]["content"]["application/json"]["example"] = json.loads(
            example["answer"]
        )


def _describe(app: FastAPI) -> dict[str, Any]:
    schema = get_openapi(
        title=app.title,
        version=app.version,
        routes=app.routes,
        tags=[{"name": name, "description": text} for name, text in _TAGS.items()],
    )
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            _show(operation, examples().get(f"{method.upper()} {path}", {}))
            operation["responses"].pop("422", None)
            operation["responses"]["default"] = _PROBLEM
    known = schema.setdefault("components", {}).setdefault("schemas", {})
    for name in _ASSUMED:
        known.pop(name, None)
    _add_shapes(schema)
    return schema


def _add_shapes(schema: dict[str, Any]) -> None:
    """Describe the shapes that the document refers to, and those that these refer to."""
    known = schema["components"]["schemas"]
    every = by_component()
    while wanted := {*_REFERENCE.findall(json.dumps(schema))} - known.keys():
        for name in sorted(wanted):
            text = inspect.cleandoc(every[name].__doc__ or "")
            described = shapes.properties(every[name], shape_routes.reference)
            known[name] = {**described, "title": name, "description": text}
    schema["components"]["schemas"] = dict(sorted(known.items()))


def by_component() -> dict[str, type[DocumentShape]]:
    """Return every shape by its name in OpenAPI."""
    return {
        shape_routes.component(shape): shape
        for module in _MODULES
        for shape in vars(module).values()
        if isinstance(shape, type)
        and issubclass(shape, DocumentShape)
        and shape is not DocumentShape
    }
