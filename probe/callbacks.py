"""Shared by the framework callbacks: a base class found late, and methods that never raise."""

import functools
import importlib
import sys
from collections.abc import Callable, Sequence
from typing import Any

from .attaching import attach


class CallbackHooks:
    """Holds the watch of a framework callback, and leaves it out where it is copied or pickled.

    Keyword arguments are those of `rankscope.probe.attach`. `failures` counts exceptions that were
    kept from the job.
    """

    unavailable = ""
    """Why the class does not derive from the library's own, empty where it does."""

    def __init__(self, **attaching: Any) -> None:
        self.failures = 0
        self._attaching = attaching
        self._watch: Any = None
        self._saving: Any = None
        if self.unavailable:
            message = f"rankscope: {type(self).__name__} without its library: {self.unavailable}"
            print(message, file=sys.stderr)  # noqa: T201  the probe has no logger in the job

    def __getstate__(self) -> dict[str, Any]:
        """Return the arguments alone: a watch belongs to one process."""
        return {"_attaching": self._attaching}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Start without a watch."""
        self.__init__(**state["_attaching"])  # type: ignore[misc]

    def _attach(self, **known: Any) -> None:
        self._watch = attach(**known | self._attaching)

    def _detach(self) -> None:
        watch, self._watch = self._watch, None
        if watch is not None:
            watch.detach()

    def _save(self) -> None:
        """Begin a checkpoint, unless one has begun."""
        if self._watch is not None and self._saving is None:
            self._saving = self._watch.checkpoint()
            self._saving.__enter__()

    def _saved(self) -> None:
        """End the checkpoint that has begun, if one has."""
        saving, self._saving = self._saving, None
        if saving is not None:
            saving.__exit__(None, None, None)


class UnavailableCallback:
    """The base class where the library has none: takes every call named `on_...`."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("on_"):
            return _nothing
        raise AttributeError(name)


def _nothing(*_args: Any, **_known: Any) -> None:
    """Do nothing."""


def guarded(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method of Callbacks that counts its exceptions; without a watch it does nothing."""

    @functools.wraps(method)
    def call(self: Any, *args: Any, **known: Any) -> Any:
        try:
            return method(self, *args, **known)
        except Exception:  # noqa: BLE001  the edge of the job
            self.failures += 1
            return None

    return call


def derive(name: str, hooks: type, bases: Sequence[tuple[str, str]]) -> type:
    """Return a class `name` of these hooks that derives from the library's own class.

    `bases` are (module, class). Those of modules that the job has imported all count; where it has
    imported none, the first that can be imported. Never raises: without any, the class derives
    from `UnavailableCallback`.
    """
    loaded = [base for base in bases if base[0] in sys.modules]
    found: list[type] = []
    reason = ""
    for module, attribute in (*loaded, *bases):
        if found and (module, attribute) not in loaded:
            break
        try:
            base = getattr(importlib.import_module(module), attribute)
        except Exception as error:  # noqa: BLE001  absent, broken, or shadowed by the job's own file
            reason = reason or f"{module}: {type(error).__name__}: {error}"
            continue
        if not isinstance(base, type):
            reason = reason or f"{module}.{attribute} is not a class"
        elif base not in found:
            found.append(base)
    names = {"__module__": hooks.__module__, "__qualname__": name, "__doc__": hooks.__doc__}
    try:
        if found:
            return type(name, (hooks, *found), names)
    except TypeError as error:  # a metaclass of its own
        reason = f"{found}: {error}"
    return type(name, (hooks, UnavailableCallback), {**names, "unavailable": reason})


def lazily(
    module: dict[str, Any], name: str, hooks: type, bases: Sequence[tuple[str, str]]
) -> Callable[[str], Any]:
    """Return a module's `__getattr__` that makes the class at its first use, and keeps it.

    A class without its library is not kept: the library may become importable.
    """

    def __getattr__(asked: str) -> Any:  # noqa: N807  the name that Python looks for
        if asked != name:
            raise AttributeError(f"module {module['__name__']!r} has no attribute {asked!r}")
        made = derive(name, hooks, bases)
        if not getattr(made, "unavailable", ""):
            module[name] = made
        return made

    return __getattr__
