"""A recording through the very pipeline of the live collector, in its own time, as fast as it goes.

A journal is replayed with its receive times, OTLP JSON lines with the time of `event_clock`. The
same input gives the same documents, byte for byte.
"""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...formats import segments
from ...formats.otlp.columns import SeriesTable
from ...formats.otlp.errors import UndecodableError
from ...formats.segments import writing
from ...vocabulary.ids import IncidentId
from ...vocabulary.incidents import Incident
from ..evaluation.overload import RecordedSkips, SkipPolicy
from ..evaluation.schedule import EvaluationSchedule, PipelineEvaluator, ScheduleHooks
from ..intake.payloads import DecodedPayload, Payload
from ..journal import interface
from ..journal.actions import RecordedAction
from ..journal.entries import JournalEntry
from ..journal.kinds import PayloadKind
from ..recordings import otlp_lines
from ..recordings.event_clock import AHEAD_SECONDS, EventClock
from ..recordings.otlp_lines import RecordingError
from .replayed import ReplayResult

if TYPE_CHECKING:
    from ..intake.decoding import PayloadDecoder

_MOST_LEADING = 10_000
"""Lines of events that are held until the first samples; a recording may have none at all."""


@dataclass(frozen=True, slots=True)
class ReplayProgress:
    """How far a replay has come: records or lines so far, and the time it is in the recording."""

    records: int
    now: float


@dataclass(slots=True)
class ReplayRun:
    """One replay: the pipeline, what is reported on the way, and what came out.

    `warn` gets what was left out, `failed` defects that were passed over, as live, `progress` every
    record. With `ignore_actions` the outcome is that of nobody having done anything. `replayed` is
    what it went through.
    """

    pipeline: PipelineEvaluator
    warn: Callable[[str], None]
    failed: Callable[[str, Exception], None]
    progress: Callable[[ReplayProgress], None] = lambda _: None
    ignore_actions: bool = False
    replayed: ReplayResult = field(default_factory=ReplayResult)
    _last: dict[IncidentId, Incident] = field(default_factory=dict)

    def run(self, path: Path) -> list[dict[str, Any]]:
        """Return the final document of every incident, ordered by `opened_at`, then id.

        Raises RecordingError for what cannot be read.
        """
        if not path.exists():
            raise RecordingError(f"{path}: there is no such file or folder")
        folder = journal_folder(path)
        if folder is not None:
            self._journal(folder)
        else:
            self._lines(path)
        return self._documents()

    def run_scraped(
        self, ticks: Iterator[tuple[float, bytes]], *, until: float
    ) -> list[dict[str, Any]]:
        """Return the same of what a Prometheus scraped: (time, WriteRequest), in order.

        `until` is when the last of it may have been scraped. Raises RecordingError.
        """
        decoder = self._decoder()
        schedule = self._schedule(RecordedSkips())
        last = None
        for count, (now, body) in enumerate(ticks, start=1):
            decoded = decoder.decode(Payload(PayloadKind.REMOTE_WRITE, body))
            schedule.apply(decoded, now)
            self.replayed.count(decoded)
            self.progress(ReplayProgress(count, now))
            last = now
        if last is not None:
            schedule.until(max(last, min(until, last + otlp_lines.RUN_ON_SECONDS)))
        return self._documents()

    def run_decoded(
        self, payloads: Iterator[DecodedPayload], table: SeriesTable, skips: SkipPolicy
    ) -> list[dict[str, Any]]:
        """Return the same of payloads with the time of `event_clock`; `table` numbers series.

        `skips` says which seconds are not evaluated.
        """
        self._timed(payloads, table, skips)
        return self._documents()

    def run_entries(
        self, entries: Iterable[JournalEntry], decisions: Iterable[JournalEntry] = ()
    ) -> list[dict[str, Any]]:
        """Return the same of entries of a log and what evaluation decided under load.

        An entry that cannot be decoded is left out, as live. Raises RecordingError.
        """
        try:
            self._entries(entries, RecordedSkips.of(decisions), lenient=True)
        except (segments.SegmentError, OSError) as error:
            raise RecordingError(str(error)) from error
        return self._documents()

    def _decoder(self) -> "PayloadDecoder":
        from ..intake.decoding import PayloadDecoder  # noqa: PLC0415  what is decoded needs none

        return PayloadDecoder(self.pipeline.table.alike())

    def incidents(self) -> list[Incident]:
        """Return every incident as it was last, ordered by `opened_at`, then id."""
        return sorted(self._last.values(), key=lambda row: (row.opened_at, row.id))

    def _documents(self) -> list[dict[str, Any]]:
        return [incident.document() for incident in self.incidents()]

    def _changed(self, changes: Sequence[Any], now: float) -> None:
        self.replayed.note(changes, now)
        for change in changes:
            self._last[change.incident.id] = change.incident

    def _acted(self, _action: RecordedAction, changes: Sequence[Any], now: float) -> None:
        self._changed(changes, now)

    def _schedule(self, skips: SkipPolicy) -> EvaluationSchedule:
        hooks = ScheduleHooks(changed=self._changed, failed=self.failed, acted=self._acted)
        return EvaluationSchedule(self.pipeline, hooks, skips=skips)

    def _journal(self, folder: Path) -> None:
        from ..journal import journal  # noqa: PLC0415  most recordings are none

        try:
            self._entries(journal.read(folder), RecordedSkips.of(_skips(folder)))
        except (segments.SegmentError, UndecodableError, OSError) as error:
            raise RecordingError(f"{folder}: {error}") from error

    def _entries(
        self, entries: Iterable[JournalEntry], skips: RecordedSkips, *, lenient: bool = False
    ) -> None:
        decoder = self._decoder()
        schedule = self._schedule(skips)
        for count, entry in enumerate(entries, start=1):
            if entry.kind in (PayloadKind.STOP, PayloadKind.TIME):
                schedule.until(entry.at)
            elif entry.kind is not PayloadKind.ACTION or not self.ignore_actions:
                try:
                    decoded = decoder.decode(Payload(entry.kind, entry.body))
                except UndecodableError as error:
                    if not lenient:
                        raise
                    self.warn(f"an entry is left out: {error}")
                    schedule.until(entry.at)
                else:
                    schedule.apply(decoded, entry.at)
                    self.replayed.count(decoded)
            self.progress(ReplayProgress(count, entry.at))

    def _lines(self, path: Path) -> None:
        files = otlp_lines.files(path)
        if not files:
            raise RecordingError(
                f"{path}: neither journal segments nor *.jsonl or *.jsonl.gz files are in it"
            )
        decoder = self._decoder()
        self._timed(self._decoded(files, decoder), decoder.table, RecordedSkips())

    def _timed(
        self, payloads: Iterator[DecodedPayload], table: SeriesTable, skips: SkipPolicy
    ) -> None:
        schedule = self._schedule(skips)
        clock = EventClock()
        hosts = _SeriesHosts(table)
        entries = _started(payloads, hosts)
        for count, (entry, timed) in enumerate(entries, start=1):
            if timed:
                clock.advance(hosts.newest(entry))
            if clock.now is None:
                continue
            schedule.apply(entry, clock.now)
            self.replayed.count(entry)
            self.progress(ReplayProgress(count, clock.now))
        if clock.now is not None:
            schedule.until(clock.now + otlp_lines.RUN_ON_SECONDS)

    def _decoded(
        self, files: Sequence[Path], decoder: "PayloadDecoder"
    ) -> Iterator[DecodedPayload]:
        for line in otlp_lines.lines(files, warn=self.warn, cut_off=self._cut_off):
            try:
                yield decoder.decode(Payload(line.kind, line.body))
            except UndecodableError as error:
                if not line.last:
                    why = otlp_lines.not_json(line.body) or error
                    raise RecordingError(f"{line.place}: {why}") from error
                self.warn(f"{line.place}: the last line is cut off and left out")

    def _cut_off(self, text: str) -> None:
        self.replayed.cut_off.append(text)
        self.warn(text)


def _skips(folder: Path) -> Iterator[JournalEntry]:
    """Return the entries of the partition that says which seconds were skipped, where it is."""
    from ..journal import journal  # noqa: PLC0415

    decisions = folder / interface.EVALUATION
    return journal.read(decisions) if decisions.is_dir() else iter(())


def _started(
    entries: Iterator[DecodedPayload], hosts: "_SeriesHosts"
) -> Iterator[tuple[DecodedPayload, bool]]:
    """Yield entries in order, and whether each says what time it is; history does not.

    What comes before the first samples may be history: a kernel log that is read from its beginning
    has lines of an hour ago. Those much older than the first samples come right after them, as they
    would have been received, and the clock begins with the samples.
    """
    leading: list[DecodedPayload] = []
    for entry in entries:
        first = min((at for _, at in hosts.newest(entry)), default=math.inf)
        timeless = entry.metrics is None or not math.isfinite(first)
        if timeless and len(leading) < _MOST_LEADING:
            leading.append(entry)
            continue
        history: list[DecodedPayload] = []
        for event in leading:
            newest = max((at for _, at in hosts.newest(event)), default=-math.inf)
            if newest < first - AHEAD_SECONDS:
                history.append(event)
            else:
                yield event, True
        yield entry, True
        for event in history:
            yield event, False
        break
    else:
        for event in leading:
            yield event, True
    for entry in entries:
        yield entry, True


class _SeriesHosts:
    """Which host each series belongs to, so that the newest time of each is found by columns."""

    def __init__(self, table: SeriesTable) -> None:
        self._table = table
        self._names: list[str] = []
        self._numbers: dict[str, int] = {}
        self._of_series = np.zeros(0, np.int32)

    def newest(self, entry: DecodedPayload) -> Iterator[tuple[str, float]]:
        """Yield the newest plausible event time of each host in an entry."""
        if entry.metrics is None:
            for event in entry.events:
                if otlp_lines.plausible(event.at):
                    yield event.resource.host, event.at
            return
        columns = entry.metrics.columns
        self._learn()
        usable = (columns.at > 0) & (columns.at < otlp_lines.LATEST) & (columns.series >= 0)
        hosts = self._of_series[columns.series[usable]]
        times = columns.at[usable]
        for number in np.unique(hosts):
            yield self._names[number], float(times[hosts == number].max())

    def _learn(self) -> None:
        known = len(self._of_series)
        if known == len(self._table):
            return
        fresh = [
            self._number(self._table[at].resource.host) for at in range(known, len(self._table))
        ]
        self._of_series = np.concatenate([self._of_series, np.array(fresh, np.int32)])

    def _number(self, host: str) -> int:
        if host not in self._numbers:
            self._numbers[host] = len(self._names)
            self._names.append(host)
        return self._numbers[host]


def journal_folder(path: Path) -> Path | None:
    """Return the journal that a path is or holds, or None for a recording of OTLP lines."""
    for folder in (path, path / "journal"):
        # A collector that has received nothing yet has locked its folder, and no segment in it.
        if segments.segments(folder) or (folder / writing.LOCK).is_file():
            return folder
    return None


def as_line(document: dict[str, Any]) -> str:
    """Return a document as one line of JSON: the same text on every run."""
    return json.dumps(document, ensure_ascii=False)
