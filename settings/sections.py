"""A section of the settings, and the list of all keys of a root model."""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict
from pydantic_core import PydanticUndefined

PREFIX = "RANKSCOPE_"


class SettingsSection(BaseModel):
    """The parent of every settings class: frozen, and a key it does not know is an error.

    NaN and Inf are no setting. Inputs stay out of error texts: they may be secrets.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, hide_input_in_errors=True
    )


@dataclass(frozen=True, slots=True)
class SettingsKey:
    """One key of a root model: its path, its variable, and what its reference page says.

    `default` is None where there is none (`required`) or where None is the default.
    """

    path: tuple[str, ...]
    annotation: Any
    required: bool
    default: Any
    help: str

    @property
    def dotted(self) -> str:
        """Return the path as messages show it: `push.endpoint`."""
        return ".".join(self.path)

    @property
    def variable(self) -> str:
        """Return the environment variable that sets it: `RANKSCOPE_PUSH__ENDPOINT`."""
        return variable(self.path)


def variable(path: Sequence[str]) -> str:
    """Return the environment variable for a key path."""
    return PREFIX + "__".join(path).upper()


def keys(model: type[BaseModel]) -> Iterator[SettingsKey]:
    """Yield every key below a root model, in the order of declaration; sections are not keys."""
    yield from _keys(model, ())


def _keys(model: type[BaseModel], above: tuple[str, ...]) -> Iterator[SettingsKey]:
    for name, field in model.model_fields.items():
        inner = section_of(field.annotation)
        if inner is not None:
            yield from _keys(inner, (*above, name))
            continue
        default = field.get_default(call_default_factory=True, validated_data={})
        yield SettingsKey(
            path=(*above, name),
            annotation=field.annotation,
            required=field.is_required(),
            default=None if default is PydanticUndefined else default,
            help=field.description or "",
        )


def section_of(annotation: Any) -> type[BaseModel] | None:
    """Return the model that an annotation holds directly (`Push`, `Push | None`), if any."""
    for kind in _alternatives(annotation):
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            return kind
    return None


def shape_of(annotation: Any) -> Literal["list", "texts", "object", "plain"]:
    """Return how an annotation is written in a variable: JSON list, comma list, object or as is."""
    shape: Literal["list", "texts", "object", "plain"] = "plain"
    for kind in _alternatives(annotation):
        origin = get_origin(kind) or kind
        if origin is str:
            return "plain"
        if not isinstance(origin, type):
            continue
        if issubclass(origin, Mapping | BaseModel):
            shape = "object"
        elif issubclass(origin, Sequence | AbstractSet) and not issubclass(origin, str | bytes):
            items = get_args(kind)
            nested = bool(items) and shape_of(items[0]) in ("list", "texts", "object")
            shape = "list" if nested else "texts"
    return shape


def _alternatives(annotation: Any) -> Iterator[Any]:
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _alternatives(get_args(annotation)[0])
    elif origin in (Union, UnionType):
        for member in get_args(annotation):
            yield from _alternatives(member)
    else:
        yield annotation
