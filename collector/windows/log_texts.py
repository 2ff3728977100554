"""What the text of a log line says whose sender has named no signature.

An agent matches lines where it reads them. Senders that only pass lines on leave that to the
collector: each text is matched once, as it is received.
"""

from collections.abc import Iterator
from dataclasses import replace

from ...formats.kernel_log import KernelLogParser, reports
from ...formats.training_logs import cleaning, signatures, tracebacks
from ...formats.training_logs.attribution import LogAttribution
from ...vocabulary.samples import CLAIMED, Event
from .attributes import rank_of

_MOST_LINES = 100
"""So many lines of one text are read: a stack with what stands around it."""


def signed(event: Event) -> Event:
    """Return the event of a line with what its text says, where it bears no signature.

    Of several lines the first root counts, else the first line that is known; a fault of a device
    or a kill for memory that the kernel logged is that event. What the sender says itself stays,
    but for a rank where the line is about another one. An exception counts that ended its process:
    one with its traceback, or behind the rank that PyTorch prints before these.
    """
    own = event.attributes
    text = own.get("text")
    if event.name != "log.fault" or own.get("signature") or not isinstance(text, str):
        return event
    found = list(_said(text, event))
    if not found:
        return event
    roots = (said for said in found if said.attributes.get("role", "root") == "root")
    first = next(roots, found[0])
    given = {name: value for name, value in own.items() if value != ""}
    if "rank" in first.attributes:
        given.pop("rank", None)
    return replace(event, name=first.name, attributes={**first.attributes, **given})


def _said(text: str, event: Event) -> Iterator[Event]:
    """Yield what each line says that is known."""
    whose = LogAttribution(rank_of(event.attributes), None, {})
    traced = tracebacks.BEGINS in text
    kernel = KernelLogParser()
    for line in text.splitlines()[:_MOST_LINES]:
        cleaned = cleaning.clean(line[: cleaning.LONGEST].encode())
        if (fault := signatures.read(cleaned.text)) is not None:
            pairs = fault.pairs(cleaned.text, whose.reported_by(cleaned, fault))
            yield Event(event.name, event.at, pairs)
            continue
        kind = tracebacks.raised(cleaned.text) if traced or cleaned.rank is not None else ""
        raised = tracebacks.RaisedException(kind, cleaned.text)
        if kind and (ended := tracebacks.event(raised, event.at, whose.written_by(cleaned))):
            yield ended
            continue
        for report in kernel.feed(cleaned.text, event.at):
            told = reports.event(report, event.at, by_pci=lambda _: None)
            if told.name == event.name or not CLAIMED.items() <= event.attributes.items():
                yield told  # a tenant's line accuses no device
