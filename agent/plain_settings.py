"""Settings without what checks them: read in a process of its own, here as plain objects.

pydantic, its compiled core and the schema of every section take 11 MB, for something that is done
once. They live and end in a child process, which sends what it found.
"""

import os
import pickle
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

T = TypeVar("T")


class PlainSection:
    """One section: its keys are its attributes. Not to be changed."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.__dict__.update(values)

    def __repr__(self) -> str:
        """Return no values: some are secrets."""
        return f"PlainSection({', '.join(self.__dict__)})"


class PlainSecret:
    """A text that shows itself only when asked to."""

    def __init__(self, text: str) -> None:
        self._text = text

    def get_secret_value(self) -> str:
        """Return the text."""
        return self._text

    def __repr__(self) -> str:
        """Return nothing of it."""
        return "PlainSecret(...)"


def apart(load: Callable[[], T]) -> T:
    """Return what `load` returns in a child process, `plain`; what it raises there is raised here.

    To be called before any thread is started.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _send(load, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        sent = pipe.read()
    os.waitpid(child, 0)
    found = pickle.loads(sent)  # noqa: S301  our own child's
    if isinstance(found, BaseException):
        raise found
    return cast("T", found)


def _send(load: Callable[[], object], writing: int) -> None:
    """Load, send, and end this process."""
    try:
        try:
            sent = pickle.dumps(plain(load()))
        except Exception as error:  # noqa: BLE001  whatever it is, the parent raises it
            sent = pickle.dumps(error)
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(sent)
    finally:
        os._exit(0)


def plain(value: Any) -> Any:
    """Return settings, or a part of them, as objects that need nothing but this module."""
    if hasattr(value, "get_secret_value"):
        return PlainSecret(value.get_secret_value())
    fields = getattr(type(value), "model_fields", None)
    if fields is not None:
        return PlainSection({name: plain(getattr(value, name)) for name in fields})
    if isinstance(value, Mapping):
        return {name: plain(inner) for name, inner in value.items()}
    if isinstance(value, tuple | list):
        return tuple(plain(inner) for inner in value)
    return value
