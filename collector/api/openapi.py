"""/openapi.json as it really is: errors are problem documents, whatever the framework assumes."""

from collections.abc import Callable
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from . import problems, shapes

_PROBLEM = {
    "description": "What went wrong, as a problem document (RFC 9457)",
    "content": {problems.MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
}
_ASSUMED = ("HTTPValidationError", "ValidationError")


def described(app: FastAPI) -> Callable[[], dict[str, Any]]:
    """Return the function that gives the application's description, made once."""

    def describe() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _describe(app)
        return app.openapi_schema

    return describe


def _describe(app: FastAPI) -> dict[str, Any]:
    schema = get_openapi(title=app.title, version=app.version, routes=app.routes)
    for operations in schema["paths"].values():
        for operation in operations.values():
            operation["responses"].pop("422", None)
            operation["responses"]["default"] = _PROBLEM
    known = schema.setdefault("components", {}).setdefault("schemas", {})
    for name in _ASSUMED:
        known.pop(name, None)
    known["Problem"] = shapes.Problem.model_json_schema()
    return schema
