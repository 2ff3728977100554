"""Shapes: one class says what a document holds, and both its JSON and its JSON Schema follow."""

import importlib
import json
import math
import pkgutil
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import jsonschema
import pytest

from rankscope.vocabulary import (
    answers,
    entities,
    handling,
    incidents,
    inspection,
    profiling,
    shapes,
)
from rankscope.vocabulary.entities import WrittenRanks
from rankscope.vocabulary.ids import Fault
from rankscope.vocabulary.ranks import RankSet
from rankscope.vocabulary.shapes import (
    Count,
    DocumentShape,
    FieldPresence,
    Figure,
    JsonType,
    MaybeFigure,
    Reading,
    Time,
)

AT = 1_700_000_000.0

MODULES = [entities, handling, incidents, inspection, profiling] + [
    importlib.import_module(f"{answers.__name__}.{module.name}")
    for module in pkgutil.iter_modules(answers.__path__)
]
EVERY = [
    shape
    for module in MODULES
    for shape in vars(module).values()
    if isinstance(shape, type)
    and issubclass(shape, DocumentShape)
    and shape.__module__ == module.__name__
]


@dataclass(frozen=True, slots=True)
class Part(DocumentShape):
    """A part."""

    name: str
    weight: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole(DocumentShape):
    """One field of each kind."""

    at: Time
    ended: Time | None
    size: Figure
    skew: MaybeFigure
    read: Reading
    count: Count
    share: Annotated[Figure | None, JsonType({"maximum": 1})]
    kind: Literal["a", "b"]
    version: Literal["1"]
    fault: Fault
    flag: bool | None
    part: Part | None
    parts: tuple[Part, ...]
    window: tuple[Time, Time]
    pair: tuple[str, float | str]
    named: dict[str, Part]
    states: dict[Literal["on", "off"], int]
    free: dict[str, Any]
    ranks: WrittenRanks
    from_: str
    later: Annotated[str | None, FieldPresence.OPTIONAL] = None
    seldom: Annotated[tuple[str, ...], FieldPresence.FILLED] = ()
    inside: Annotated[str, FieldPresence.INTERNAL] = "never shown"


def whole(**changed: Any) -> Whole:
    given: dict[str, Any] = {
        "at": AT,
        "ended": None,
        "size": 12.3456789,
        "skew": math.nan,
        "read": math.inf,
        "count": 3,
        "share": 0.5,
        "kind": "a",
        "version": "1",
        "fault": Fault("gpu.lost"),
        "flag": None,
        "part": None,
        "parts": (Part("left", 0),),
        "window": (AT, AT + 1),
        "pair": ("x", 1.5),
        "named": {"it": Part("right", 2.0)},
        "states": {"on": 1},
        "free": {"anything": [1]},
        "ranks": RankSet(range(100)),
        "from_": "here",
    }
    return Whole(**{**given, **changed})


def test_a_document_has_the_fields_in_their_order_as_json_shows_them():
    expected = {
        "at": "2023-11-14T22:13:20.000Z",
        "ended": None,
        "size": 12.3457,
        "skew": None,
        "read": "Inf",
        "count": 3,
        "share": 0.5,
        "kind": "a",
        "version": "1",
        "fault": "gpu.lost",
        "flag": None,
        "part": None,
        "parts": [{"name": "left", "weight": 0.0}],
        "window": ["2023-11-14T22:13:20.000Z", "2023-11-14T22:13:21.000Z"],
        "pair": ["x", 1.5],
        "named": {"it": {"name": "right", "weight": 2.0}},
        "states": {"on": 1},
        "free": {"anything": [1]},
        "ranks": ["0-99"],
        "from": "here",
        "later": None,
    }
    assert json.dumps(expected) == json.dumps(whole().document())


def test_what_is_left_out_where_it_is_empty_is_there_where_it_is_not():
    assert ["seldom"] == [name for name in whole(seldom=("one",)).document() if name == "seldom"]
    assert "seldom" not in whole().document()


def test_a_schema_says_all_that_the_annotations_say():
    part = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "weight": {"type": "number"}},
        "required": ["name", "weight"],
    }
    time = {"type": "string", "format": "date-time"}
    found = shapes.schema(Whole)
    assert {
        "at": time,
        "ended": {"type": ["string", "null"], "format": "date-time"},
        "size": {"type": "number"},
        "skew": {"type": ["number", "null"]},
        "read": {"type": ["number", "string", "null"]},
        "count": {"type": "integer", "minimum": 0},
        "share": {"type": ["number", "null"], "maximum": 1},
        "kind": {"enum": ["a", "b"]},
        "version": {"const": "1"},
        "fault": {"type": "string"},
        "flag": {"type": ["boolean", "null"]},
        "part": {"anyOf": [part, {"type": "null"}]},
        "parts": {"type": "array", "items": part},
        "window": {"type": "array", "items": time, "minItems": 2, "maxItems": 2},
        "pair": {
            "type": "array",
            "prefixItems": [{"type": "string"}, {"type": ["number", "string"]}],
            "minItems": 2,
            "maxItems": 2,
        },
        "named": {"type": "object", "additionalProperties": part},
        "states": {
            "type": "object",
            "additionalProperties": {"type": "integer"},
            "propertyNames": {"enum": ["on", "off"]},
        },
        "free": {"type": "object", "additionalProperties": True},
        "ranks": shapes.schema(WrittenRanks),
        "from": {"type": "string"},
        "later": {"type": ["string", "null"]},
        "seldom": {"type": "array", "items": {"type": "string"}},
    } == found["properties"]
    assert [*found["properties"]][:-2] == found["required"]


def test_shapes_may_be_described_elsewhere():
    found = shapes.schema(Whole, lambda shape: {"$ref": f"#/{shape.__name__}"})
    assert {"$ref": "#/Whole"} == found
    inside = shapes.properties(Whole, lambda shape: {"$ref": f"#/{shape.__name__}"})["properties"]
    assert {"type": "array", "items": {"$ref": "#/Part"}} == inside["parts"]


@pytest.mark.parametrize("changed", [{}, {"ended": AT, "part": Part("p", 1.0), "flag": True}])
def test_a_document_is_what_its_schema_says(changed):
    jsonschema.validate(whole(**changed).document(), shapes.schema(Whole))


@pytest.mark.parametrize(
    ("name", "wrong"), [("kind", "c"), ("count", -1), ("version", "2"), ("window", ["now"])]
)
def test_a_schema_refuses_what_no_value_is_written_as(name, wrong):
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**whole().document(), name: wrong}, shapes.schema(Whole))


def test_a_type_that_json_does_not_have_needs_an_annotation():
    with pytest.raises(TypeError, match="annotate it with Json"):
        shapes.schema(RankSet)


@pytest.mark.parametrize("shape", EVERY, ids=lambda shape: shape.__name__)
def test_every_shape_has_a_schema_and_says_what_it_is(shape):
    jsonschema.Draft202012Validator.check_schema(shapes.schema(shape))
    assert "(" not in (shape.__doc__ or "(").partition("\n")[0].partition(" ")[0]  # not generated


def test_no_two_shapes_have_one_name():
    names = [shape.__name__.removesuffix("Document") for shape in EVERY]
    assert sorted(set(names)) == sorted(names)
