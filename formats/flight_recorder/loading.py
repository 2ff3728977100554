"""The bytes of a dump as plain containers: nothing in it is ever executed.

A dump is a file of a tenant, and a pickle may name any callable. Only what needs none is accepted:
dict, list, tuple, text, bytes, numbers, booleans and None, which is all that torch writes.
"""

import io
import json
import pickle
from typing import Any

MOST_BYTES = 256 * 1024 * 1024
"""A dump of 20,000 entries with stacks has some 30 MB."""

MOST_CONTAINERS = 8_000_000
"""Each takes one byte of a file and sixty of memory; 20,000 entries with stacks have a million."""

_OPENING = (b"]", b"}", b")")
"""Opcodes that make an empty container; counted in texts too, which hold few."""

_PICKLE = b"\x80"
"""What a pickle of protocol 2 or later begins with; JSON cannot."""


class LoadError(ValueError):
    """What is neither a pickle of plain containers nor JSON; its text says why."""


class _PlainUnpickler(pickle.Unpickler):
    """Refuses every global name, so that loading cannot call anything."""

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        raise LoadError(f"it names {module_name}.{global_name}: only plain containers are read")

    def persistent_load(self, pid: Any, /) -> Any:
        raise LoadError(f"it refers to {pid!r:.80}, an object outside the file")


def load(body: bytes) -> Any:
    """Return the containers of a pickle or of a JSON text. Raises LoadError."""
    if len(body) > MOST_BYTES:
        raise LoadError(f"{len(body)} bytes, more than {MOST_BYTES}")
    if not body.startswith(_PICKLE):
        try:
            return json.loads(body)
        except (ValueError, RecursionError) as error:
            raise LoadError(f"neither a pickle nor JSON: {error}") from error
    if sum(body.count(opcode) for opcode in _OPENING) > MOST_CONTAINERS:
        raise LoadError(f"more than {MOST_CONTAINERS} containers")
    try:
        return _PlainUnpickler(io.BytesIO(body)).load()
    except LoadError:
        raise
    # A torn or hostile pickle fails in any of these ways, all inside the unpickler.
    except (
        pickle.UnpicklingError, EOFError, ValueError, TypeError, IndexError, KeyError,
        AttributeError, ImportError, MemoryError, OverflowError, RecursionError,
    ) as error:  # fmt: skip
        raise LoadError(f"a torn or foreign pickle: {error or type(error).__name__}") from error
