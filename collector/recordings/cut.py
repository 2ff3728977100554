"""One incident's telemetry, cut out of a journal as OTLP JSON lines that `replay` reads.

In it: all that its jobs and their hosts reported from some minutes before the onset to some seconds
after its end. Left out: other jobs, other hosts, what people did. The journal is read twice: hosts
and names first, then the lines, so that memory does not grow with the recording.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ...formats import segments
from ...formats.otlp import encode
from ...formats.otlp.columns import MetricsBatch, SeriesTable
from ...formats.otlp.errors import UndecodableError
from ...vocabulary import times
from ...vocabulary.samples import Event, Sample, TelemetryResource
from ..intake.decoding import PayloadDecoder
from ..intake.payloads import DecodedPayload, Payload
from ..journal import journal
from ..journal.kinds import TELEMETRY
from .anonymising import StandInNames

BEFORE_SECONDS = 900.0
"""How long before the onset: detectors compare with what was normal."""

AFTER_SECONDS = 60.0
"""How long after the end: what was received last may be about the seconds before."""


class CutError(Exception):
    """A journal that cannot be cut; the text says why."""


@dataclass(frozen=True, slots=True)
class JournalRange:
    """What is cut: the telemetry of these jobs received from `start` to `end` (epoch seconds)."""

    jobs: frozenset[str]
    start: float
    end: float

    @classmethod
    def of(
        cls,
        document: Mapping[str, Any],
        *,
        before_seconds: float = BEFORE_SECONDS,
        after_seconds: float = AFTER_SECONDS,
    ) -> "JournalRange":
        """Return the range of an incident document; one that is open ends with its last change."""
        end = document["resolved_at"] or document["updated_at"]
        last = max(times.parse(end), times.parse(document["detected_at"]))
        return cls(
            jobs=frozenset(document["jobs"]),
            start=times.parse(document["opened_at"]) - before_seconds,
            end=last + after_seconds,
        )


class JournalCut:
    """A range of a journal. Making it reads the journal once; `lines` reads it again."""

    def __init__(self, folder: Path, wanted: JournalRange, *, anonymise: bool = False) -> None:
        """Find the hosts of the jobs. Raises CutError where the journal has nothing of them."""
        self._folder, self._wanted = folder, wanted
        self.hosts = frozenset(
            resource.host
            for resource in self._resources()
            if resource.job in wanted.jobs and resource.host
        )
        if not self.hosts:
            raise CutError(
                f"the journal has no telemetry of {', '.join(sorted(wanted.jobs))} between "
                f"{times.rfc3339(wanted.start)} and {times.rfc3339(wanted.end)}"
            )
        self.names: StandInNames | None = None
        if anonymise:
            self.names = StandInNames(hosts=self.hosts, jobs=wanted.jobs)
            for samples, events in self._rows():
                for resource, rows in samples.items():
                    self.names.resource(resource)
                    for sample in rows:
                        self.names.pairs(dict(sample.attributes))
                for event in events:
                    self.names.resource(event.resource)
                    self.names.pairs(event.attributes)

    def lines(self) -> Iterator[str]:
        """Yield OTLP JSON requests in the order in which they were received, without line ends."""
        for samples, events in self._rows():
            if samples:
                yield encode.metrics_json(
                    [
                        (self._resource(resource), [self._sample(row) for row in rows])
                        for resource, rows in samples.items()
                    ]
                )
            if events:
                yield encode.logs_json(
                    [(self._resource(event.resource), [self._event(event)]) for event in events]
                )

    def _resource(self, resource: TelemetryResource) -> TelemetryResource:
        return resource if self.names is None else self.names.resource(resource)

    def _sample(self, sample: Sample) -> Sample:
        if self.names is None:
            return sample
        pairs = self.names.pairs(dict(sample.attributes))
        return replace(sample, attributes=tuple(sorted(pairs.items())))

    def _event(self, event: Event) -> Event:
        if self.names is None:
            return event
        return replace(event, attributes=self.names.pairs(event.attributes))

    def _resources(self) -> Iterator[TelemetryResource]:
        for decoded in self._decoded():
            if decoded.metrics is not None and decoded.table is not None:
                for number in _numbers(decoded.metrics, decoded.table):
                    yield decoded.table.resources[number]
            for event in decoded.events:
                yield event.resource

    def _rows(self) -> Iterator[tuple[dict[TelemetryResource, list[Sample]], list[Event]]]:
        """Yield what is wanted of each entry."""
        for decoded in self._decoded():
            samples: dict[TelemetryResource, list[Sample]] = {}
            if decoded.metrics is not None and decoded.table is not None:
                samples = self._samples(decoded.metrics, decoded.table)
            events = [event for event in decoded.events if self._wants(event.resource)]
            if samples or events:
                yield samples, events

    def _samples(
        self, batch: MetricsBatch, table: SeriesTable
    ) -> dict[TelemetryResource, list[Sample]]:
        found: dict[TelemetryResource, list[Sample]] = {}
        wanted = {
            number: resource
            for number in _numbers(batch, table)
            if self._wants(resource := table.resources[number])
        }
        columns = batch.columns
        if not wanted:
            return found
        for series, at, value in zip(
            columns.series.tolist(), columns.at.tolist(), columns.value.tolist(), strict=True
        ):
            sender = wanted.get(int(table.resource_of[series])) if series >= 0 else None
            if sender is not None:
                row = table[series]
                found.setdefault(sender, []).append(Sample(row.metric, value, at, row.attributes))
        return found

    def _wants(self, resource: TelemetryResource) -> bool:
        if resource.job is None:
            return resource.host in self.hosts
        return resource.job in self._wanted.jobs

    def _decoded(self) -> Iterator[DecodedPayload]:
        decoder = PayloadDecoder(SeriesTable())
        start_ns, end_ns = int(self._wanted.start * 1e9), int(self._wanted.end * 1e9)
        try:
            for file in segments.segments(self._folder):
                newest = segments.last_at_ns(file)
                if newest is None or newest < start_ns:
                    continue
                for entry in journal.read(file):
                    if entry.at_ns > end_ns:
                        return
                    if entry.at_ns >= start_ns and entry.kind in TELEMETRY:
                        yield decoder.decode(Payload(entry.kind, entry.body))
        except (segments.SegmentError, UndecodableError, OSError) as error:
            raise CutError(f"{self._folder}: {error}") from error


def _numbers(batch: MetricsBatch, table: SeriesTable) -> list[int]:
    """Return the numbers of the resources in a batch, in order of their first appearance."""
    series = batch.columns.series
    numbers = table.resource_of[series[series >= 0]]
    _, first = np.unique(numbers, return_index=True)
    return [int(numbers[at]) for at in np.sort(first)]
