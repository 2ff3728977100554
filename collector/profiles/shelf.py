"""The profiles of a collector: asked for, answered, kept in files, let go of when old or too many.

One folder a profile, with `profile.json` and a compressed trace a rank. Safe to ask from any
thread.
"""

import gzip
import json
import secrets
import shutil
import threading
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import structlog

from ...formats import chrome_trace, segments
from ...vocabulary.profiling import ProfileRequest
from ..settings.profiles import ProfilesSettings
from .profile import JobProfile, RankProfile, Role

_FILE = "profile.json"
_LATE_SECONDS = 180.0
"""After a profile had to begin and to end, how long its trace may take to be here."""
_ASKING_SECONDS = 90.0
"""An agent that allows profiles asks at least so often."""
_LARGEST_READ = 160 << 20
"""Bytes of a trace, uncompressed, that are read for its summary."""
_DAY_SECONDS = 86_400.0

_LOG = structlog.get_logger(__name__)


class UnknownProfileError(LookupError):
    """There is no such profile, or it was not asked of that rank."""


@dataclass(frozen=True, slots=True)
class ProfileTarget:
    """A rank to profile: `host` is the one it runs on, None where it is not known."""

    rank: int
    role: Role
    host: str | None


class ProfileShelf:
    """Profiles by id, the oldest first. `ended` is called with each that nobody is waited for."""

    def __init__(
        self,
        folder: Path,
        settings: ProfilesSettings,
        *,
        ended: Callable[[JobProfile], None] = lambda _profile: None,
    ) -> None:
        self._folder = folder
        self._settings = settings
        self.ended = ended
        self._lock = threading.RLock()
        self._reading = threading.Lock()
        self._asked: dict[str, float] = {}
        self._profiles: dict[str, JobProfile] = {}
        for profile in sorted(_kept(folder), key=lambda one: one.created_at):
            self._profiles[profile.id] = profile

    def request(
        self,
        job: str,
        wanted: Iterable[ProfileTarget],
        *,
        steps: int,
        by: str,
        incident: str | None,
        now: float,
    ) -> JobProfile:
        """Ask for a profile. Ranks whose agent does not take part have failed at once."""
        settings = self._settings
        profile = JobProfile(
            id=secrets.token_hex(8),
            job=job,
            incident=incident,
            by=by,
            created_at=now,
            until=now + settings.wait_seconds,
            steps=steps,
            seconds=settings.seconds,
            ranks=[RankProfile(one.rank, one.role, one.host) for one in wanted],
        )
        with self._lock:
            for row in profile.ranks:
                if row.host is None or not self.asks(row.host, now):
                    row.status = "failed"
                    row.text = (
                        f"the agent of {row.host or 'its host'} does not ask for profiles: "
                        "set profiling.allowed there"
                    )
            self._profiles[profile.id] = profile
            self._keep(profile)
        if profile.status != "waiting":
            self._end(profile)
        return profile

    def asks(self, host: str, now: float) -> bool:
        """Return whether the agent of a host asks for requests, and so allows profiles."""
        return now - self._asked.get(host, -_ASKING_SECONDS) < _ASKING_SECONDS

    def wanted(self, host: str, now: float) -> list[tuple[str, ProfileRequest]]:
        """Return what is asked of a host's agent, with the job of each; it is asking now."""
        with self._lock:
            self._asked[host] = now
            return [
                (profile.job, profile.request(row, self._settings.max_trace_bytes))
                for profile in self._profiles.values()
                if now <= profile.until
                for row in profile.ranks
                if row.host == host and row.status == "waiting"
            ]

    def find(self, identity: str, now: float) -> JobProfile:
        """Return a profile. Raises UnknownProfileError."""
        with self._lock:
            profile = self._profiles.get(identity)
            if profile is None:
                raise UnknownProfileError(f"there is no profile {identity!r}")
            self._overdue(profile, now)
            return profile

    def every(
        self, *, now: float, job: str | None = None, incident: str | None = None
    ) -> list[JobProfile]:
        """Return the profiles of a job or an incident, or all, the newest first."""
        with self._lock:
            found = [
                profile
                for profile in reversed(self._profiles.values())
                if (job is None or profile.job == job)
                and (incident is None or profile.incident == incident)
            ]
            for profile in found:
                self._overdue(profile, now)
            return found

    def trace(self, identity: str, rank: int, now: float) -> Path:
        """Return the file of a trace. Raises UnknownProfileError."""
        row = self.find(identity, now).of(rank)
        path = self._folder / identity / _name(rank)
        if row is None or row.status != "complete" or not path.is_file():
            raise UnknownProfileError(f"profile {identity!r} has no trace of rank {rank}")
        return path

    def take(
        self, identity: str, rank: int, file: Path, *, steps: int, seconds: float, now: float
    ) -> JobProfile:
        """Take the trace of a rank from a file, which is moved. Raises UnknownProfileError."""
        profile = self._waiting(identity, rank, now)
        summary, text = None, ""
        with self._reading:  # one at a time: it takes memory and time that evaluation needs
            try:
                summary = chrome_trace.summary(_text(file))
            except (chrome_trace.TraceError, OSError, EOFError, zlib.error, ValueError) as error:
                text = f"kept, but not summed up: {error}"[:300]
        self._keep_trace(identity, rank, file)
        with self._lock:
            row = self._waiting(identity, rank, now).of(rank)
            assert row is not None  # noqa: S101  _waiting has found it
            place = self._folder / identity
            place.mkdir(parents=True, exist_ok=True)
            row.bytes = file.stat().st_size
            shutil.move(file, place / _name(rank))
            row.status, row.text, row.summary = "complete", text, summary
            row.steps, row.seconds = steps, seconds
            self._keep(profile)
            done = profile.status != "waiting"
        if done:
            self._end(profile)
        return profile

    def fail(self, identity: str, rank: int, text: str, now: float) -> JobProfile:
        """Note why a rank sends no trace. Raises UnknownProfileError."""
        with self._lock:
            profile = self._waiting(identity, rank, now)
            row = profile.of(rank)
            assert row is not None  # noqa: S101  _waiting has found it
            row.status, row.text = "failed", text[:300]
            self._keep(profile)
            done = profile.status != "waiting"
        if done:
            self._end(profile)
        return profile

    def trim(self, now: float) -> None:
        """Let go of what is too old, and of the oldest while there is too much."""
        for host in list(self._asked):  # any name may be sent, and hosts come and go
            if not self.asks(host, now):
                self._asked.pop(host, None)
        with self._lock:
            size = sum(row.bytes for one in self._profiles.values() for row in one.ranks)
            for profile in list(self._profiles.values()):
                self._overdue(profile, now)
                old = now - profile.created_at > self._settings.keep_days * _DAY_SECONDS
                if not old and size <= self._settings.max_bytes:
                    break
                size -= sum(row.bytes for row in profile.ranks)
                del self._profiles[profile.id]
                shutil.rmtree(self._folder / profile.id, ignore_errors=True)
                self._let_go(profile)

    def _waiting(self, identity: str, rank: int, now: float) -> JobProfile:
        profile = self.find(identity, now)
        row = profile.of(rank)
        if row is None or row.status != "waiting":
            raise UnknownProfileError(f"profile {identity!r} waits for no trace of rank {rank}")
        return profile

    def _overdue(self, profile: JobProfile, now: float) -> None:
        """Wait no longer for a profile whose time is over."""
        if profile.status != "waiting" or now <= profile.until + profile.seconds + _LATE_SECONDS:
            return
        for row in profile.ranks:
            if row.status == "waiting":
                row.status, row.text = "failed", "the agent of its host did not answer"
        self._keep(profile)
        self._end(profile)

    # What several collectors do otherwise

    def _end(self, profile: JobProfile) -> None:
        """Note that nobody is waited for any more."""
        self.ended(profile)

    def _keep_trace(self, identity: str, rank: int, file: Path) -> None:
        """Keep a trace for others, before it is moved to its place here."""

    def _let_go(self, profile: JobProfile) -> None:
        """Let go of what else there is of a profile."""

    def _keep(self, profile: JobProfile) -> None:
        place = self._folder / profile.id
        place.mkdir(parents=True, exist_ok=True)
        text = json.dumps(profile.document(), ensure_ascii=False, allow_nan=False)
        segments.rewrite(place / _FILE, [text.encode()])


def _name(rank: int) -> str:
    return f"rank-{rank}.trace.json.gz"


def _kept(folder: Path) -> Iterable[JobProfile]:
    for file in folder.glob(f"*/{_FILE}"):
        try:
            profile = JobProfile.parse(json.loads(file.read_bytes()))
        except (OSError, ValueError, KeyError, TypeError) as error:
            _LOG.error("a profile cannot be read", file=str(file), error=str(error))
            continue
        if profile.id == file.parent.name:
            yield profile


def _text(file: Path) -> str:
    """Return a trace, uncompressed. Raises OSError, ValueError, EOFError or zlib.error."""
    with gzip.open(file) as source:
        data = source.read(_LARGEST_READ + 1)
    if len(data) > _LARGEST_READ:
        raise ValueError(f"more than {_LARGEST_READ} bytes")
    return data.decode(errors="replace")
