"""The signatures of signatures.toml: which line points at which fault, and in which role."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

from ...vocabulary import tables
from ...vocabulary.samples import Scalar
from . import cleaning

_NUMBERS = frozenset({"rank", "seq", "enqueued", "completed", "pid"})
_PASSED_ON = ("peer", "seq", "op", "group", "enqueued", "completed", "device", "pid")


@dataclass(frozen=True, slots=True)
class LogSignature:
    """One kind of line."""

    name: str
    role: Literal["root", "cascade", "confirmation"]
    needle: str
    pattern: re.Pattern[str]
    meaning: str
    about_named_rank: bool = False
    about_host: bool = False


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
        if rank is not None:
            pairs["rank"] = rank
        return pairs | dict(self.details)


@cache
def catalogue() -> tuple[LogSignature, ...]:
    """Return all signatures; the first that matches a line wins."""
    package = __package__ or ""
    return tuple(
        tables.packaged(
            LogSignature,
            package,
            "signatures.toml",
            "signature",
            beside="version source",
            unique=False,
        )
    )


@cache
def about_hosts() -> frozenset[str]:
    """Return the names of signatures of what is a host's, whichever rank of it noticed."""
    return frozenset(one.name for one in catalogue() if one.about_host)


def read(text: str) -> TrainingLogFault | None:
    """Return what a line reports, None when nothing."""
    for one in catalogue():
        if one.needle in text and (found := one.pattern.search(text)):
            groups = found.groupdict()
            details = {
                name: int(groups[name]) if name in _NUMBERS else cleaning.shown(groups[name])
                for name in _PASSED_ON
                if groups.get(name)
            }
            rank = groups.get("rank")
            return TrainingLogFault(one, int(rank) if rank else None, details)
    return None
