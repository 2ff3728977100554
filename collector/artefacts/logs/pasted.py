"""Logs as people paste them: so short that all their lines are looked at, whatever their form."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ....vocabulary.samples import GUESSED, Event, Scalar, TelemetryResource
from ..found import ArtefactContents, LogQuote

_MOST_BYTES = 1 << 20
"""Of a log that somebody pastes. What a longer one says is known by its lines' forms."""


@dataclass(frozen=True, slots=True)
class PastedLog:
    """A log, the rank that wrote it, and when it ended (s since the epoch).

    rank: None where it is nobody's alone.
    """

    name: str
    rank: int | None
    at: float


@dataclass(frozen=True, slots=True)
class PastedLine:
    """What is said of a line of a log, from 1, and the signature that it is known by.

    guessed: it may mean something else, and is for information.
    """

    line: int
    signature: str
    text: str
    guessed: bool = False


def logs(
    files: Mapping[str, Path], whose: Mapping[str, int | None], found: ArtefactContents
) -> Iterator[tuple[PastedLog, list[str]]]:
    """Yield the logs, by name, that are so short, and their lines; what cannot be read was said.

    `whose`: the rank that wrote each log, None where it is nobody's alone.
    """
    for name, path in files.items():
        try:
            if path.stat().st_size > _MOST_BYTES:
                continue
            text = path.read_bytes().decode("utf-8", "replace")
            at = path.stat().st_mtime if found.until is None else found.until
        except OSError:
            continue
        yield PastedLog(name, whose.get(name), at), text.replace("\r", "\n").split("\n")


def tell(
    log: PastedLog,
    said: PastedLine,
    resource: TelemetryResource,
    found: ArtefactContents,
    *,
    role: str = "confirmation",
) -> None:
    """Quote a line of a log in words; an event at the end of the log says so too."""
    quote = LogQuote(log.name, said.line, None, log.rank, said.signature, role, said.text)
    pairs: dict[str, Scalar] = {
        "signature": quote.signature, "role": quote.role, "text": quote.text,
        **(GUESSED if said.guessed else {}),
    }  # fmt: skip
    found.quotes.append(quote)
    found.events.append(Event("log.fault", log.at, pairs, resource))


def tell_each(
    said: Iterable[tuple[PastedLog, PastedLine]],
    resource: TelemetryResource,
    found: ArtefactContents,
    *,
    by: str,
    role: str = "confirmation",
) -> None:
    """Tell lines of logs whose form no table has; `by`: what they were understood by, in words."""
    for log, line in said:
        tell(log, line, resource, found, role=role)
        found.understood(log.name, f"log of a form of its own, by {by}")
