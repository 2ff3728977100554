"""OTLP's AnyValue as the scalars of the vocabulary, from protobuf messages and from JSON."""

import base64
import json
import math
import re
from sys import intern
from typing import Any

from opentelemetry.proto.common.v1.common_pb2 import AnyValue

from ...vocabulary.samples import Scalar
from .errors import UndecodableError, within

_WHOLE = re.compile(r"[-+]?[0-9]+")
_SCALARS = frozenset(("string_value", "int_value", "bool_value", "double_value"))
_WORDS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def pairs(key_values: Any) -> dict[str, Scalar]:
    """Return repeated KeyValue messages as a dict; empty values left out, the last of two wins."""
    found: dict[str, Scalar] = {}
    for pair in key_values:
        value = pair.value
        kind = value.WhichOneof("value")
        if kind in _SCALARS:  # the commonest by far, and a record has several
            found[intern(pair.key)] = getattr(value, kind)  # one string, however many events
        elif kind is None:
            found.pop(pair.key, None)
        else:
            found[pair.key] = _composed(value)
    return found


def scalar(value: AnyValue) -> Scalar | None:
    """Return an AnyValue; lists and maps as JSON text, bytes as base64, the empty one as None."""
    kind = value.WhichOneof("value")
    if kind is None:
        return None
    return getattr(value, kind) if kind in _SCALARS else _composed(value)


def _composed(value: AnyValue) -> str:
    plain = _plain(value)
    return plain if isinstance(plain, str) else _text(plain)


def _plain(value: AnyValue) -> Any:
    match value.WhichOneof("value"):
        case "string_value":
            return value.string_value
        case "int_value":
            return value.int_value
        case "bool_value":
            return value.bool_value
        case "double_value":
            return value.double_value
        case "bytes_value":
            return base64.b64encode(value.bytes_value).decode()
        case "array_value":
            return [_plain(item) for item in value.array_value.values]
        case "kvlist_value":
            return {pair.key: _plain(pair.value) for pair in value.kvlist_value.values}
    return None


def _text(plain: Any) -> str:
    return json.dumps(plain, separators=(",", ":"), ensure_ascii=False)


def json_pairs(listed: Any) -> dict[str, Scalar]:
    """Return OTLP JSON's list of {key, value} as a dict, as `pairs` does.

    Raises UndecodableError on any other shape.
    """
    found = {}
    for index, pair in enumerate(objects(listed)):
        try:
            key, plain = _json_pair(pair)
        except UndecodableError as error:
            raise error.inside(f"[{index}]") from None
        if plain is not None:
            found[key] = _text(plain) if isinstance(plain, list | dict) else plain
        else:
            found.pop(key, None)
    return found


def _json_pair(pair: dict[str, Any]) -> tuple[str, Any]:
    key = pair.get("key")
    if key is None:
        key = ""
    if not isinstance(key, str):
        raise UndecodableError("text is needed", "key")
    with within("value"):
        return key, _json_plain(pair.get("value"))


def _json_plain(value: Any) -> Any:
    for kind, inner in an_object(value).items():
        if inner is None:
            continue
        match kind:
            case "stringValue" | "bytesValue":
                if not isinstance(inner, str):
                    raise UndecodableError("text is needed", kind)
                return inner
            case "boolValue":
                if not isinstance(inner, bool):
                    raise UndecodableError("true or false is needed", kind)
                return inner
            case "intValue":
                return whole(inner, kind)
            case "doubleValue":
                return number(inner, kind)
            case "arrayValue":
                with within(kind):
                    return [_json_plain(item) for item in objects(an_object(inner).get("values"))]
            case "kvlistValue":
                with within(kind):
                    listed = objects(an_object(inner).get("values"))
                    return dict(_json_pair(item) for item in listed)
    return None


def an_object(value: Any) -> dict[str, Any]:
    """Return a JSON object; null or absent is the empty one, as protobuf's JSON has it."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise UndecodableError("an object is needed")
    return value


def objects(listed: Any) -> list[dict[str, Any]]:
    """Return a JSON list of objects; null or absent is the empty one."""
    if listed is None:
        return []
    if not isinstance(listed, list):
        raise UndecodableError("a list is needed")
    for index, item in enumerate(listed):
        if not isinstance(item, dict):
            raise UndecodableError("an object is needed", f"[{index}]")
    return listed


def unbounded(value: Any, where: str) -> int:
    """Return a whole number, which OTLP JSON writes as text or as number."""
    if isinstance(value, str) and len(value) <= 20 and _WHOLE.fullmatch(value):
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise UndecodableError("a whole number, or one as text, is needed", where)
    return value


def whole(value: Any, where: str) -> int:
    """Return a signed 64-bit integer, written as text or as number."""
    found = unbounded(value, where)
    if not -(1 << 63) <= found < 1 << 63:
        raise UndecodableError("more than 64 bits", where)
    return found


def number(value: Any, where: str) -> float:
    """Return a double, which OTLP JSON writes as number, as text, or as "NaN" and "Infinity"."""
    if isinstance(value, str):
        if value in _WORDS:
            return _WORDS[value]
        try:
            return float(value)
        except ValueError:
            value = None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UndecodableError('a number, "NaN", "Infinity" or "-Infinity" is needed', where)
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
