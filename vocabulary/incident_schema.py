"""The published JSON Schema of the incident document, docs/reference/incident.schema.json."""

from typing import Any

from . import shapes
from .entities import Entity
from .incidents import Incident


def schema() -> dict[str, Any]:
    """Return the schema (JSON Schema 2020-12)."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Rankscope incident",
        "description": "What broke, where, how sure, on what evidence, what to do, what it costs.",
        **shapes.schema(
            Incident, lambda shape: {"$ref": "#/$defs/entity"} if shape is Entity else None
        ),
        "$defs": {"entity": shapes.schema(Entity)},
    }
