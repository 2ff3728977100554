"""Profiles nobody has to ask for: of a rank that an incident names as slow; and their results.

Work is done in a thread of its own: the store's thread, which brings the incidents, waits for
nothing.
"""

import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar
from urllib.parse import quote

import structlog

from ...alerts.actions import PersonAction
from ...vocabulary.clock import Clock
from ...vocabulary.ids import IncidentId
from ...vocabulary.inspection import IncidentProfile, ProfileAmount, ProfileRow
from ..intake.waiting import UnavailableError
from ..journal.actions import RecordedAction
from ..settings.profiles import ProfilesSettings
from ..store.incidents import RecordedChange
from ..windows import queries
from . import choosing
from .comparison import compared
from .profile import JobProfile
from .shelf import ProfileShelf, ProfileTarget

BY = "rankscope"
"""Who asks for a profile that nobody asked for."""
_ACT_SECONDS = 30.0
_MOST_WAITING = 256

T = TypeVar("T")

_LOG = structlog.get_logger(__name__)


class JobFlow(Protocol):
    """What is needed of whoever evaluates the jobs."""

    def read(self, question: Callable[[Any], T]) -> T:
        """Return the answer of a question to the pipeline."""
        ...

    def act(self, action: RecordedAction, *, timeout_seconds: float) -> bool:
        """Enter an action; False where the store does not have it when time is up."""
        ...


class AutomaticProfiles:
    """Asks for profiles of suspects, where the settings say so, and enters results in incidents."""

    def __init__(
        self, shelf: ProfileShelf, *, stages: JobFlow, settings: ProfilesSettings, clock: Clock
    ) -> None:
        self._shelf = shelf
        self._stages = stages
        self._settings = settings
        self._clock = clock
        self._last: dict[str, float] = {}
        self._queue: queue.Queue[Callable[[], None] | None] = queue.Queue(_MOST_WAITING)
        self._thread = threading.Thread(target=self._run, name="profiles", daemon=True)
        shelf.ended = self._ended

    def start(self) -> None:
        """Begin to work."""
        self._thread.start()

    def stop(self, *, timeout: float) -> None:
        """End after what waits, or so many seconds."""
        try:
            self._queue.put_nowait(None)
        except queue.Full:
            return
        if self._thread.ident is not None:
            self._thread.join(timeout)

    def changed(self, news: Sequence[RecordedChange]) -> None:
        """Take changes of incidents, in the thread that wrote them."""
        if not self._settings.automatic:
            return
        for change in news:
            document = change.document
            if choosing.suspects(document):
                self._put(lambda document=document: self._suspect(document))  # type: ignore[misc]

    def _ended(self, profile: JobProfile) -> None:
        if profile.incident is not None:
            self._put(lambda: self._enter(profile))

    def _put(self, work: Callable[[], None]) -> None:
        try:
            self._queue.put_nowait(work)
        except queue.Full:
            _LOG.warning("too many profiles wait; one is skipped")

    def _run(self) -> None:
        while (work := self._queue.get()) is not None:
            try:
                work()
            except Exception as error:  # noqa: BLE001  the edge of one profile
                _LOG.error("a profile failed", error=repr(error))

    def _suspect(self, document: Mapping[str, Any]) -> None:
        """Ask for a profile of the first cause's rank and of a peer; once in a while a job."""
        job, now = document["job"], self._clock.now()
        ranks = choosing.suspects(document)
        last = self._last.get(job)
        if last is not None and now - last < self._settings.interval_seconds:
            return
        rows = self._stages.read(lambda line: queries.ranks(line.windows, job))
        hosts = {row.rank: row.host for row in rows}
        suspect = next((rank for rank in ranks if rank in hosts), None)
        if suspect is None:
            return

        def asks(host: str) -> bool:
            return self._shelf.asks(host, now)

        host = hosts[suspect]
        other = choosing.peer(rows, suspect, ranks, asks)
        if host is None or not asks(host) or other is None:
            return  # nothing was allowed there: that is no news worth an entry in each incident
        self._last = {name: at for name, at in self._last.items() if now - at < 86_400.0}
        self._last[job] = now
        self._shelf.request(
            job,
            [ProfileTarget(suspect, "suspect", host), ProfileTarget(other, "peer", hosts[other])],
            steps=self._settings.steps,
            by=BY,
            incident=document["id"],
            now=now,
        )

    def _enter(self, profile: JobProfile) -> None:
        """Enter what came of a profile in its incident, by the journal: a replay shows it too."""
        assert profile.incident is not None  # noqa: S101  looked at by the caller
        now = self._clock.now()
        entered = RecordedAction.new(
            PersonAction(
                kind="profile",
                incident=IncidentId(profile.incident),
                at=now,
                by=profile.by,
                detail=result(profile, now).detail(),
            )
        )
        try:
            self._stages.act(entered, timeout_seconds=_ACT_SECONDS)
        except UnavailableError as error:
            _LOG.warning("a profile is not in its incident", profile=profile.id, error=str(error))


def result(profile: JobProfile, at: float) -> IncidentProfile:
    """Return what an incident's document shows of a profile."""
    found = compared(profile)
    traces = tuple(
        f"/api/v1/profiles/{quote(profile.id)}/ranks/{row.rank}/trace"
        for row in profile.ranks
        if row.status == "complete"
    )
    if found is None:
        why = "; ".join(f"rank {row.rank}: {row.text}" for row in profile.ranks if row.text)
        text = f"no profile to compare ({why})"[:400]
        return IncidentProfile(at=at, id=profile.id, text=text, traces=traces)
    rows = tuple(
        ProfileRow(
            row.kind,
            row.name,
            ProfileAmount(row.suspect_count, row.suspect_seconds),
            ProfileAmount(row.peer_count, row.peer_seconds),
        )
        for row in found.rows
    )
    return IncidentProfile(
        at=at,
        id=profile.id,
        text=found.text,
        per=found.per,
        suspect=found.suspect,
        peer=found.peer,
        rows=rows,
        traces=traces,
    )
