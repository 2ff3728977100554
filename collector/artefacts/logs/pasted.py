"""Logs as people paste them: so short that all their lines are looked at, whatever their form."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ....vocabulary.samples import Event, Scalar, TelemetryResource
from ..found import ArtefactContents, LogQuote

_MOST_BYTES = 1 << 20
"""Of a log that somebody pastes. What a longer one says is known by its lines' forms."""


@dataclass(frozen=True, slots=True)
class PastedLog:
    """The lines of a log, and when it ended (s since the epoch)."""

    name: str
    lines: list[str]
    at: float


def logs(files: Mapping[str, Path], found: ArtefactContents) -> Iterator[PastedLog]:
    """Yield the logs, by name, that are so short; what cannot be read was said before."""
    for name, path in files.items():
        try:
            if path.stat().st_size > _MOST_BYTES:
                continue
            text = path.read_bytes().decode("utf-8", "replace")
            at = path.stat().st_mtime if found.until is None else found.until
        except OSError:
            continue
        yield PastedLog(name, text.replace("\r", "\n").split("\n"), at)


def tell(quote: LogQuote, at: float, resource: TelemetryResource, found: ArtefactContents) -> None:
    """Quote a line, and let an event at a time say what it says."""
    pairs: dict[str, Scalar] = {
        "signature": quote.signature, "role": quote.role, "text": quote.text,
    }  # fmt: skip
    found.quotes.append(quote)
    found.events.append(Event("log.fault", at, pairs, resource))
