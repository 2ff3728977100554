"""How many jobs and hosts each sender names: one that makes names up must not take all the room.

A payload that names too many new ones is refused as a whole, before it is kept: the journal keeps
payloads as they came, and a replay knows nothing of senders.
"""

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal
from weakref import WeakKeyDictionary

import numpy as np

from ...formats.otlp.columns import SeriesTable
from ...vocabulary.samples import TelemetryResource
from ..settings.intake import IntakeSettings
from .payloads import DecodedPayload

GENERATION_SECONDS = 12 * 3600.0
"""A name that was not new for two of these is forgotten, as windows forget jobs that are silent."""

SenderBound = Literal["sender_jobs", "sender_hosts"]


class _RecentNames:
    """Names of the last two generations."""

    def __init__(self) -> None:
        self._newer: set[str] = set()
        self._older: set[str] = set()

    def __len__(self) -> int:
        return len(self._newer) + len(self._older)

    def new(self, names: set[str]) -> set[str]:
        return names - self._newer - self._older

    def add(self, names: set[str]) -> None:
        self._newer |= names
        self._older -= names

    def age(self) -> None:
        self._older, self._newer = self._newer, set()


@dataclass(frozen=True, slots=True)
class _NamedByPayload:
    """The jobs and hosts that a payload names."""

    jobs: set[str]
    hosts: set[str]

    @classmethod
    def of(cls, resources: Iterable[TelemetryResource]) -> "_NamedByPayload":
        named = list(resources)
        return cls({one.job for one in named if one.job is not None}, {one.host for one in named})


@dataclass(slots=True)
class _TableState:
    """Which resources of one table were looked at, or refused: for the thread that decodes it."""

    looked_at: int = 0
    refused: set[int] = field(default_factory=set)


@dataclass(slots=True)
class _SenderState:
    """The names of one sender, and what was looked at of each table of it."""

    began: float
    jobs: _RecentNames = field(default_factory=_RecentNames)
    hosts: _RecentNames = field(default_factory=_RecentNames)
    tables: WeakKeyDictionary[SeriesTable, _TableState] = field(default_factory=WeakKeyDictionary)


class SenderNames:
    """The names of all senders, who are told apart by the jobs that their tokens are for.

    Asked from any thread, by each right after it decoded: before its table gets more.
    """

    def __init__(self, *, jobs: int, hosts: int, now: Callable[[], float] = time.monotonic) -> None:
        """`jobs`, `hosts`: the most that one sender may name."""
        self._most_jobs, self._most_hosts = jobs, hosts
        self._now = now
        self._senders: dict[tuple[str, ...], _SenderState] = {}
        self._lock = threading.Lock()

    @classmethod
    def of(cls, settings: IntakeSettings) -> "SenderNames":
        return cls(jobs=settings.max_jobs_of_sender, hosts=settings.max_hosts_of_sender)

    def refuses(self, decoded: DecodedPayload, sender: tuple[str, ...]) -> SenderBound | None:
        """Return the bound that a payload passes, None for one to be taken, whose names count."""
        table = decoded.table
        if decoded.metrics is None:
            named = _NamedByPayload.of(event.resource for event in decoded.events)
            with self._lock:
                return self._passes(self._state(sender), named)
        assert table is not None  # noqa: S101  it numbers the series
        with self._lock:
            state = self._state(sender)
            seen = state.tables.get(table)
            if seen is None:
                seen = state.tables[table] = _TableState()
        if len(table.resources) == seen.looked_at and not seen.refused:
            return None  # as nearly always: nobody is named who was not before
        fresh = set(range(seen.looked_at, len(table.resources))) | seen.refused
        series = decoded.metrics.columns.series
        numbers = fresh & set(np.unique(table.resource_of[series[series >= 0]]).tolist())
        named = _NamedByPayload.of(table.resources[number] for number in numbers)
        with self._lock:
            bound = self._passes(state, named)
        if bound is None:
            seen.refused -= numbers
        else:
            seen.refused |= numbers
        seen.looked_at = len(table.resources)
        return bound

    def _state(self, sender: tuple[str, ...]) -> _SenderState:
        now = self._now()
        state = self._senders.get(sender)
        if state is None:
            state = self._senders[sender] = _SenderState(now)
        if now - state.began >= GENERATION_SECONDS:
            state.began = now
            state.jobs.age()
            state.hosts.age()
        return state

    def _passes(self, state: _SenderState, named: _NamedByPayload) -> SenderBound | None:
        jobs, hosts = state.jobs.new(named.jobs), state.hosts.new(named.hosts)
        if jobs and len(state.jobs) + len(jobs) > self._most_jobs:
            return "sender_jobs"
        if hosts and len(state.hosts) + len(hosts) > self._most_hosts:
            return "sender_hosts"
        state.jobs.add(jobs)
        state.hosts.add(hosts)
        return None
