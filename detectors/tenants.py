"""Events of a node that belong to this attempt, and not to whoever had the node before."""

import re
from collections.abc import Iterator, Sequence

import numpy as np

from ..vocabulary.samples import GUESSED, Event
from .window import JobWindow

_OF_NODES = ("gpu.fault", "gpu.operational_event", "host.oom_kill", "log.fault")

_START_SECONDS = 60.0
"""Where processes do not report when they started, their first data may come so much later."""


def own_events(window: JobWindow) -> Sequence[Event]:
    """Return the window's events without those of a node's earlier tenant, oldest first.

    A node's event is an earlier tenant's when it is from before this attempt's processes started,
    or when it names a process that is none of this attempt's and is from before its first step.
    Events that carry the job's id are its own, unless they are from long before: an agent that
    starts reads kernel lines of an hour, and gives them to the job that it finds.
    """
    return window.features.once(own_events, lambda: tuple(_own(window))) if window.events else ()


def own_logs(window: JobWindow) -> Sequence[Event]:
    """Return the log lines among them."""
    if not window.named("log.fault"):
        return ()
    return window.features.once(own_logs, lambda: tuple(_own_logs(window)))


def _own_logs(window: JobWindow) -> Iterator[Event]:
    return (event for event in own_events(window) if event.name == "log.fault")


def lines_of(window: JobWindow, signature: str) -> list[Event]:
    """Return the log lines among them that have a signature."""
    return [event for event in own_logs(window) if signature_of(event) == signature]


def first_logged(window: JobWindow, signature: str) -> dict[int, Event]:
    """Return by host, as the window numbers them, the first log line with a signature."""
    found: dict[int, Event] = {}
    for event in own_logs(window):
        if event.attributes.get("signature") == signature and event.resource.host in window.hosts:
            found.setdefault(window.hosts.index(event.resource.host), event)
    return found


def logged(event: Event) -> str:
    """Return what a log line is searched for: its signature and its text."""
    return f"{event.attributes.get('signature', '')} {event.attributes.get('text', '')}"


def text_of(event: Event) -> str:
    """Return the text of an event alone, "" where it has none."""
    return str(event.attributes.get("text", ""))


def signature_of(event: Event) -> str:
    """Return the signature that a log line matched, "" where it has none."""
    return str(event.attributes.get("signature", ""))


def says(window: JobWindow, event: Event, pattern: re.Pattern[str]) -> bool:
    """Tell whether a pattern occurs in a log line of a window, as `logged` returns it."""
    return window.searches.found(pattern, event, logged)


def _own(window: JobWindow) -> Iterator[Event]:
    first_step: float | None = None
    pids: set[int] | None = None
    for event in window.events:
        if event.name in _OF_NODES and event.resource.job == window.job:
            if event.at < window.attempt_started_at - _START_SECONDS:
                continue
        elif event.name in _OF_NODES:
            if pids is None:
                pids = {int(held) for held in window.pids if held > 0}
            pid = event.attributes.get("pid")
            foreign = isinstance(pid, int) and pid > 0 and bool(pids) and pid not in pids
            if event.at < window.attempt_started_at:
                continue
            if foreign:
                first_step = _first_step(window) if first_step is None else first_step
                if event.at < first_step:
                    continue
        yield event


def _first_step(window: JobWindow) -> float:
    """Return when the first step held ended on the first of its ranks, inf where there is none."""
    at = window.steps.at
    return float(np.min(at, initial=np.inf, where=np.isfinite(at)))


def guessed(event: Event) -> bool:
    """Tell whether what a line means follows from its words alone, as no table has its wording."""
    return GUESSED.items() <= event.attributes.items()
