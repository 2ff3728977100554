"""The signatures of *signatures.toml: which line points at which fault, and in which role."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

from ...vocabulary import tables
from ...vocabulary.patterns import DeferredPattern
from ...vocabulary.samples import Scalar
from .. import needles
from . import cleaning

_FILES = ("device_signatures.toml", "process_signatures.toml", "signatures.toml")
"""In this order: what a device says of itself is particular, whoever passes it on."""
_NUMBERS = frozenset({"rank", "seq", "enqueued", "completed", "pid"})
_PASSED_ON = ("peer", "seq", "op", "group", "enqueued", "completed", "device", "pid", "text")
"""Groups of a pattern: `text` is the part that is shown of a line which is longer than that."""


@dataclass(frozen=True, slots=True)
class LogSignature:
    """One kind of line."""

    name: str
    role: Literal["root", "cascade", "confirmation"]
    needle: str
    pattern: DeferredPattern
    meaning: str
    also: tuple[str, ...] = ()
    """Further texts of which a line that lacks the needle has one."""
    about_named_rank: bool = False
    starts: bool = False
    """Whether who logs it, in a log without steps, gave up before its first one."""
    link: Literal["", "down", "up"] = ""
    """What became of the network port that the line names, or of one of its host."""
    of_host: bool = False
    inside: DeferredPattern | None = None
    ended: Literal["", "process", "setup", "device"] = ""
    """What comes to its end with such a line; "": none says that."""


@dataclass(frozen=True, slots=True)
class TrainingLogFault:
    """What a line reports. `rank` is the one that the line itself names, if any."""

    signature: LogSignature
    rank: int | None
    details: Mapping[str, Scalar]

    def pairs(self, text: str, rank: int | None) -> dict[str, Scalar]:
        """Return the attributes of the event `log.fault`."""
        pairs: dict[str, Scalar] = {
            "signature": self.signature.name,
            "role": self.signature.role,
            "text": cleaning.shown(text),
        }
        if self.signature.ended:
            pairs["ended"] = self.signature.ended
        if rank is not None:
            pairs["rank"] = rank
        return pairs | dict(self.details)


@cache
def catalogue() -> tuple[LogSignature, ...]:
    """Return all signatures, one for each text of a row; the first that matches a line wins."""
    package = __package__ or ""
    return tuple(
        replace(one, needle=needle)
        for name in _FILES
        for one in tables.packaged(
            LogSignature, package, name, "signature", beside="version source", unique=False
        )
        for needle in (one.needle, *one.also)
    )


@cache
def _shaped() -> needles.ShapedRows[LogSignature]:
    return needles.ShapedRows((one.needle, False, one) for one in catalogue())


@cache
def starting() -> frozenset[str]:
    """Return the names of signatures by which a rank gives up before its first step."""
    return frozenset(one.name for one in catalogue() if one.starts)


@cache
def links() -> Mapping[str, str]:
    """Return by a signature's name what became of a port: "down" or "up"."""
    return {one.name: one.link for one in catalogue() if one.link}


@cache
def of_hosts() -> frozenset[str]:
    """Return the names of signatures whose lines are about what all processes of a host share."""
    return frozenset(one.name for one in catalogue() if one.of_host)


def ended(name: str) -> str:
    """Return what comes to its end with lines of a signature, "" where they do not say so."""
    return next((one.ended for one in catalogue() if one.name == name), "")


def read(text: str, innermost: str = "") -> TrainingLogFault | None:
    """Return what a line reports, None when nothing; `innermost`: the call that a traceback names.

    The call stands above the line, where that is an exception's: its place and its source.
    """
    for one, found in needles.matches(_shaped().of(text), text):
        if one.inside is not None and not one.inside.search(innermost):
            continue
        groups = found.groupdict()
        details = {
            name: int(groups[name]) if name in _NUMBERS else cleaning.shown(groups[name])
            for name in _PASSED_ON
            if groups.get(name)
        }
        rank = groups.get("rank")
        return TrainingLogFault(one, int(rank) if rank else None, details)
    return None
