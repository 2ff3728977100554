"""File and environment into one settings object, or every mistake at once."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from . import environment
from .contents import SettingsFile
from .errors import InnerError, SettingsError, SettingsProblem
from .nearest import known_or_nearest
from .sections import section_of, variable

T = TypeVar("T", bound=BaseModel)

Loc = tuple[str | int, ...]

_FIXES = {
    "int_parsing": "write a whole number",
    "int_type": "write a whole number",
    "int_from_float": "write a whole number",
    "float_parsing": "write a number",
    "float_type": "write a number",
    "finite_number": "write a finite number",
    "bool_parsing": "write true or false",
    "bool_type": "write true or false",
    "string_type": "write text, in quotes where it looks like a number",
    "list_type": "write a list",
    "tuple_type": "write a list",
    "set_type": "write a list",
    "frozen_set_type": "write a list",
    "dict_type": "write keys and values below it",
    "model_type": "write keys and values below it",
    "model_attributes_type": "write keys and values below it",
}
_BOUNDS = {
    "greater_than": ("gt", "above"),
    "greater_than_equal": ("ge", "of at least"),
    "less_than": ("lt", "below"),
    "less_than_equal": ("le", "of at most"),
}


def load(
    model: type[T],
    *,
    path: Path | None,
    environ: Mapping[str, str],
    foreign: Collection[str] = (),
) -> T:
    """Return the settings of one process: defaults, then the file, then the environment.

    `foreign` names the sections of the other process, whose variables are passed over.
    Raises SettingsError, which lists every problem with its key and fix.
    """
    file = _read(path) if path is not None else SettingsFile()
    variables = environment.read(model, environ, foreign=foreign)
    problems = [*file.problems, *variables.problems]
    _open_empty_sections(model, file.values)
    given = _GivenSettings(_merged(model, file.values, variables.values), path, file, variables)
    try:
        loaded = model.model_validate(given.values)
    except ValidationError as error:
        # Without a readable file its keys are missing by no fault of their own: say what is true.
        if not file.problems:
            details = error.errors(include_url=False)
            problems.extend(one for detail in details for one in _problems(detail, model, given))
        # `from None`, and inputs hidden in it: a traceback must not show what was typed either.
        raise SettingsError(tuple(dict.fromkeys(problems))) from None
    if problems:
        raise SettingsError(tuple(dict.fromkeys(problems)))
    return loaded


def _read(path: Path) -> SettingsFile:
    from . import files  # noqa: PLC0415  YAML's parser: many processes have no file

    return files.read(path)


@dataclass(frozen=True, slots=True)
class _GivenSettings:
    """What was given, and where each part of it stands."""

    values: dict[str, Any]
    path: Path | None
    file: SettingsFile
    variables: environment.EnvironmentVariables

    def where(self, loc: Loc) -> str:
        """Return the variable or the line of a key path, or of the nearest part above it."""
        for end in range(len(loc), 0, -1):
            if loc[:end] in self.variables.names:
                return self.variables.names[loc[:end]]
            if loc[:end] in self.file.lines:
                return f"{self.path}:{self.file.lines[loc[:end]]}"
        return str(self.path) if self.path is not None else ""


def _open_empty_sections(model: type[BaseModel], values: dict[str, Any]) -> None:
    """Read `push:` with nothing below it as a section that keeps its defaults."""
    for name, field in model.model_fields.items():
        inner = section_of(field.annotation)
        if inner is None or name not in values:
            continue
        if values[name] is None:
            values[name] = {}
        elif isinstance(values[name], dict):
            _open_empty_sections(inner, values[name])


def _merged(model: type[BaseModel], under: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """Return both, key by key: sections join, any other value of `over` replaces the one below."""
    merged = dict(under)
    for key, value in over.items():
        field = model.model_fields.get(key)
        inner = section_of(field.annotation) if field is not None else None
        if inner is None or key not in merged or not isinstance(value, dict):
            merged[key] = value
        elif isinstance(merged[key], dict):
            merged[key] = _merged(inner, merged[key], value)
        # Else the file has something that is no section: left in place, for the error it is.
    return merged


def _problems(
    detail: ErrorDetails, model: type[BaseModel], given: _GivenSettings
) -> Iterator[SettingsProblem]:
    loc = _place(detail, given.values)
    error = detail.get("ctx", {}).get("error")
    if isinstance(error, InnerError):
        for inner in error.problems:
            key = (*loc, *inner.path)
            yield SettingsProblem(given.where(key), _dotted(key), inner.what, inner.fix)
    else:
        yield _problem(detail, loc, model, given)


def _problem(
    detail: ErrorDetails, loc: Loc, model: type[BaseModel], given: _GivenSettings
) -> SettingsProblem:
    kind = detail["type"]
    context = detail.get("ctx", {})
    if kind == "extra_forbidden":
        inner, above = _model_at(model, loc[:-1])
        what, fix = "unknown key", known_or_nearest(str(loc[-1]), inner, above)
    elif kind == "missing":
        what = "missing"
        fix = f"add {_dotted(loc)} to the file"
        if all(isinstance(part, str) for part in loc):  # items of a list have no variable
            fix += f" or set {variable([str(part) for part in loc])}"
    elif kind in {"literal_error", "enum"}:
        what, fix = "none of its values", f"write one of {context.get('expected', '')}"
    elif kind in _BOUNDS:
        name, words = _BOUNDS[kind]
        what, fix = f"{detail['input']} is out of range", f"write a number {words} {context[name]}"
    elif kind == "value_error":
        # Raised by the section's own validator, whose text names the fix.
        what, fix = "not accepted", str(context.get("error", detail["msg"]))
    else:
        message = detail["msg"][:1].lower() + detail["msg"][1:]
        what, fix = f"not accepted: {message}", _FIXES.get(kind, "write a value of its type")
    return SettingsProblem(given.where(loc), _dotted(loc), what, fix)


def _place(detail: ErrorDetails, values: Any) -> Loc:
    """Return the path of an error without the names of union members that pydantic adds."""
    kept: list[str | int] = []
    for part in detail["loc"]:
        try:
            values = values[part]
        except (KeyError, IndexError, TypeError):  # not what was given, but what was expected
            if detail["type"] != "missing":
                continue
        kept.append(part)
    return tuple(kept)


def _model_at(model: type[BaseModel], loc: Loc) -> tuple[type[BaseModel], list[str]]:
    """Return the model a path leads to, through lists too, and the path as texts."""
    for part in loc:
        field = model.model_fields.get(str(part))
        if field is None:
            continue
        inner = section_of(field.annotation) or _item_model(field.annotation)
        if inner is not None:
            model = inner
    return model, [str(part) for part in loc]


def _item_model(annotation: Any) -> type[BaseModel] | None:
    for argument in getattr(annotation, "__args__", ()):
        found = section_of(argument) or _item_model(argument)
        if found is not None:
            return found
    return None


def _dotted(loc: Loc) -> str:
    return ".".join(str(part) for part in loc)
