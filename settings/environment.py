"""`RANKSCOPE_<SECTION>__<KEY>` variables as nested values."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from pydantic import BaseModel

from .errors import SettingsProblem
from .nearest import known_or_nearest
from .sections import PREFIX, section_of, shape_of, variable


@dataclass(slots=True)
class EnvironmentVariables:
    """What the variables set: nested values, the variable of every path, and what is wrong."""

    values: dict[str, Any] = field(default_factory=dict)
    names: dict[tuple[str | int, ...], str] = field(default_factory=dict)
    problems: list[SettingsProblem] = field(default_factory=list)


def read(
    model: type[BaseModel], environ: Mapping[str, str], *, foreign: Collection[str] = ()
) -> EnvironmentVariables:
    """Return what the environment sets for a root model.

    Variables of `foreign` sections belong to another process and are passed over, and so are
    variables without `__` that are no top-level key: they are the probe's (RANKSCOPE_JOB_ID).
    """
    found = EnvironmentVariables()
    for name in sorted(environ):
        if not name.startswith(PREFIX):
            continue
        path = tuple(part.lower() for part in name.removeprefix(PREFIX).split("__"))
        if len(path) == 1:
            top = model.model_fields.get(path[0])
            if top is None or section_of(top.annotation) is not None:
                continue
        elif path[0] in foreign and path[0] not in model.model_fields:
            continue
        _set(model, path, name, environ[name], found)
    return found


def _set(
    model: type[BaseModel], path: tuple[str, ...], name: str, text: str, found: EnvironmentVariables
) -> None:
    inner: type[BaseModel] = model
    values = found.values
    for depth, part in enumerate(path):
        field_ = inner.model_fields.get(part)
        above = path[:depth]
        if field_ is None:
            fix = known_or_nearest(
                part, inner, above, spell=partial(_spell, below=path[depth + 1 :])
            )
            found.problems.append(SettingsProblem(name, ".".join(path), "unknown key", fix))
            return
        below = section_of(field_.annotation)
        if depth == len(path) - 1:
            try:
                values[part] = _value(text, field_.annotation)
            except ValueError as error:
                found.problems.append(SettingsProblem(name, ".".join(path), *error.args))
                return
            found.names[path] = name
            return
        if below is None:
            found.problems.append(
                SettingsProblem(
                    name,
                    ".".join(path),
                    f"{'.'.join(path[: depth + 1])} has no keys below it",
                    f"set {variable(path[: depth + 1])}, lists and objects as JSON text",
                )
            )
            return
        inner = below
        values = values.setdefault(part, {})
        if not isinstance(values, dict):  # the section was given whole, and a key of it too
            found.problems.append(
                SettingsProblem(
                    name,
                    ".".join(path),
                    "its section is given whole in another variable",
                    f"use either {variable(path[: depth + 1])} or single keys",
                )
            )
            return


def _spell(known: Sequence[str], *, below: Sequence[str]) -> str:
    return variable([*known, *below])


def _value(text: str, annotation: Any) -> Any:
    """Return a variable's text as a model takes it; raises ValueError(what, fix)."""
    shape = shape_of(annotation)
    if shape == "plain":
        return text
    if shape == "texts" and not text.lstrip().startswith("["):
        return [item.strip() for item in text.split(",") if item.strip()]
    opening, word = ("{", "an object") if shape == "object" else ("[", "a list")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not text.lstrip().startswith(opening) or value is None:
        example = '{"key": "value"}' if shape == "object" else '["one", "two"]'
        raise ValueError(f"not {word} in JSON", f"write {word} such as {example}")
    return value
