"""Dataclasses that are made with one compilation each, for a program that starts anew each time.

Some verbs make hundreds of dataclasses as they load, and `dataclasses` compiles six methods
of each, most of which are never called: a third of the CPU of a short verb. Here only `__init__` is
compiled; the others are closures over the names of the fields. What they do is the same, and so is
what `fields`, `replace` and pickle make of the class. Classes with rarer features are made by
`dataclasses` as ever (decision 0036).
"""

import dataclasses
import inspect
import reprlib
from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, FrozenInstanceError
from operator import attrgetter
from typing import Any

_standard: Callable[..., Any] = dataclasses.dataclass
_OPTIONS = frozenset({"frozen", "slots", "kw_only"})
_RARE = ("InitVar", "KW_ONLY")
"""In annotations: what is left to `dataclasses`."""
_METHODS = frozenset({
    "__init__", "__repr__", "__eq__", "__hash__", "__setattr__", "__delattr__", "__getstate__",
    "__setstate__",
})  # fmt: skip
"""What a class may define itself: then it is left to `dataclasses` too."""
_FACTORY = object()
"""The default of an argument whose value is made anew each time."""


def install() -> None:
    """Let modules that are imported from now on have their dataclasses made so."""
    dataclasses.__dict__["dataclass"] = dataclass


def dataclass(cls: type[Any] | None = None, /, **options: bool) -> Any:
    """Return the class as `dataclasses.dataclass` does, or the decorator where there is none."""
    if cls is None:
        return lambda this: dataclass(this, **options)
    if _rare(cls, options):
        return _standard(cls, **options)
    cls.__doc__ = cls.__doc__ or cls.__name__  # else the signature is looked up for one
    frozen = options.get("frozen", False)
    made = _standard(cls, **{**options, "frozen": False}, init=False, repr=False, eq=False)
    fields = dataclasses.fields(made)
    made.__init__ = _init(made, fields, frozen=frozen)
    made.__repr__ = _repr([one.name for one in fields if one.repr])
    made.__eq__ = _eq(_values([one.name for one in fields if one.compare]))
    made.__hash__ = None
    if frozen:
        hashed = [one.name for one in fields if (one.compare if one.hash is None else one.hash)]
        made.__hash__ = _hash(_values(hashed))
        _freeze(made, [one.name for one in fields], slots=options.get("slots", False))
    parameters: Any = made.__dataclass_params__
    parameters.init = parameters.repr = parameters.eq = True
    parameters.frozen = frozen
    return made


def _rare(cls: type[Any], options: dict[str, bool]) -> bool:
    """Return whether a class is one for `dataclasses` itself."""
    annotations = inspect.get_annotations(cls)
    return (
        not options.keys() <= _OPTIONS
        or all("ClassVar" in str(one) for one in annotations.values())
        or any(rare in str(one) for one in annotations.values() for rare in _RARE)
        or any(isinstance(one, Field) and not one.init for one in vars(cls).values())
        or any(map(dataclasses.is_dataclass, cls.__mro__[1:]))
        or not _METHODS.isdisjoint(cls.__dict__)
    )


def _init(made: type[Any], fields: Sequence[Field[Any]], *, frozen: bool) -> Callable[..., None]:
    """Return `__init__`, the only method that is compiled: its arguments are the fields."""
    known: dict[str, Any] = {"_own_set": object.__setattr__, "_own_factory": _FACTORY}
    arguments: dict[bool, list[str]] = {False: ["self"], True: []}
    body: list[str] = []
    for one in fields:
        name = value = one.name
        argument = name
        if one.default_factory is not MISSING:
            known[f"_own_new_{name}"] = one.default_factory
            argument = f"{name}=_own_factory"
            value = f"_own_new_{name}() if {name} is _own_factory else {name}"
        elif one.default is not MISSING:
            known[f"_own_is_{name}"] = one.default
            argument = f"{name}=_own_is_{name}"
        arguments[bool(one.kw_only)].append(argument)
        body.append(f"_own_set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(made, "__post_init__"):
        body.append("self.__post_init__()")
    named = [*arguments[False], *(["*", *arguments[True]] if arguments[True] else [])]
    exec("\n ".join([f"def __init__({', '.join(named)}):", *body]), known)  # noqa: S102  of fields
    init: Any = known["__init__"]
    init.__qualname__ = f"{made.__qualname__}.__init__"
    init.__module__ = made.__module__
    init.__annotations__ = {**{one.name: one.type for one in fields}, "return": None}
    made_init: Callable[..., None] = init
    return made_init


def _values(names: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    """Return the function that gives the values of some fields."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda this: tuple(getattr(this, name) for name in names)


def _repr(names: Sequence[str]) -> Callable[[Any], str]:
    @reprlib.recursive_repr()
    def __repr__(self: Any) -> str:  # noqa: N807
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__qualname__}({values})"

    return __repr__


def _eq(values: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any, object], bool]:
    def __eq__(self: Any, other: object) -> bool:  # noqa: N807
        if other.__class__ is not self.__class__:
            return NotImplemented
        return values(self) == values(other)

    return __eq__


def _hash(values: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any], int]:
    def __hash__(self: Any) -> int:  # noqa: N807
        return hash(values(self))

    return __hash__


def _freeze(made: Any, names: Sequence[str], *, slots: bool) -> None:
    """Let no field be set once there is a value; with slots, pickle sets them otherwise."""
    own = frozenset(names)

    def __setattr__(self: Any, name: str, value: Any) -> None:  # noqa: N807
        if name in own or type(self) is made:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        object.__setattr__(self, name, value)

    def __delattr__(self: Any, name: str) -> None:  # noqa: N807
        if name in own or type(self) is made:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        object.__delattr__(self, name)

    def __getstate__(self: Any) -> list[Any]:  # noqa: N807
        return [getattr(self, name) for name in names]

    def __setstate__(self: Any, state: Sequence[Any]) -> None:  # noqa: N807
        for name, value in zip(names, state, strict=True):
            object.__setattr__(self, name, value)

    made.__setattr__, made.__delattr__ = __setattr__, __delattr__
    if slots:
        made.__getstate__, made.__setstate__ = __getstate__, __setstate__
