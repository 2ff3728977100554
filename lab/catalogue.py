"""The faults that the laboratory can inject, by fault id: simulated, real, or neither yet."""

import difflib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..vocabulary import faults
from ..vocabulary.ids import Fault
from . import mechanisms
from .simulator.faults import FAULTS


class FaultError(ValueError):
    """A fault that does not exist or cannot be injected; the text names it and the fix."""


@dataclass(frozen=True, slots=True)
class InjectableFault:
    """One fault of the vocabulary.

    kinds: the simulator's names for it, none: not simulated. mechanisms: how a real job gets it.
    """

    id: str
    title: str
    kinds: tuple[str, ...]
    mechanisms: tuple[str, ...]


def injectable() -> Iterator[InjectableFault]:
    """Return every fault of the vocabulary, and how it can be injected."""
    for kind in faults.catalogue().values():
        if kind.id != faults.UNKNOWN:
            kinds = tuple(name for name, fault in FAULTS.items() if fault.id == kind.id)
            real = tuple(one.name for one in mechanisms.of_fault(kind.id))
            yield InjectableFault(kind.id, kind.title, kinds, real)


def simulated(name: str) -> str:
    """Return the simulator's kind for a fault id or for a kind's own name.

    Of several kinds of one id, the one that is called like it. Raises FaultError with the nearest
    name where there is none.
    """
    if name in FAULTS:
        return name
    kinds = [kind for kind, fault in FAULTS.items() if fault.id == name]
    if not kinds:
        raise FaultError(missing(name, "simulate", [fault.id for fault in FAULTS.values()]))
    plain = name.rpartition(".")[2]
    return plain if plain in kinds else kinds[0]


def missing(name: str, what: str, known: Sequence[str]) -> str:
    """Return what to say where a fault cannot be injected so: `what` is "simulate" or "inject"."""
    if Fault(name) in faults.catalogue():
        return f"this version cannot {what} {name}; `rankscope lab list` shows what it can"
    for one in mechanisms.MECHANISMS:
        if one.name == name:
            of = f"a mechanism of {one.fault}" if one.fault else "a mechanism that is not a fault"
            return f"{name} is {of}: --real --mechanism {name}"
    near = difflib.get_close_matches(name, [*known, *faults.catalogue()], n=1)
    hint = f"did you mean {near[0]}?" if near else "`rankscope lab list` shows them"
    return f"there is no fault {name!r}; {hint}"


def show(*, as_json: bool) -> None:
    """Print the faults, one a line, then what is injected and no fault."""
    for row in injectable():
        if as_json:
            line = {
                "type": "fault",
                "fault": row.id,
                "title": row.title,
                "simulated": bool(row.kinds),
                "kinds": list(row.kinds),
                "real": bool(row.mechanisms),
                "mechanisms": list(row.mechanisms),
            }
            print(json.dumps(line))
        else:
            ways = [*(["simulated"] if row.kinds else []), *(["real"] if row.mechanisms else [])]
            named = f" (real: {', '.join(row.mechanisms)})" if row.mechanisms else ""
            print(f"{row.id:<28} {', '.join(ways) or '-':<16} {row.title}{named}")
    for name in mechanisms.healthy():
        text = mechanisms.named(name).text
        if as_json:
            print(json.dumps({"type": "healthy", "mechanism": name, "text": text}))
        else:
            print(f"{'-':<28} {'real':<16} --mechanism {name}, no fault: {text}")
