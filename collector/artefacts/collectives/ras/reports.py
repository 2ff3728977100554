"""What one line of a report is: a fault that an answer of RAS tells of."""

from .....vocabulary.samples import Event, Scalar, TelemetryResource
from ...found import ArtefactContents, LogQuote
from .dated_answers import DatedAnswer


def report(
    signature: str,
    role: str,
    rank: int | None,
    text: str,
    dated: DatedAnswer,
    at: float,
    resource: TelemetryResource,
    found: ArtefactContents,
) -> None:
    """Add a fault at a time, s since the epoch, and quote the answer's first line."""
    pairs: dict[str, Scalar] = {"signature": signature, "role": role, "text": text}
    if rank is not None:
        pairs["rank"] = rank
    found.events.append(Event("log.fault", at, pairs, resource))
    line = dated.answer.line + 1
    found.quotes.append(LogQuote(dated.file, line, dated.at, rank, signature, role, text))
