"""From bytes of an event file, as they come, to samples: one time a step."""

import math
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Annotated

from ...vocabulary import row_values, tables
from ...vocabulary.patterns import DeferredPattern
from ...vocabulary.samples import Event as Reported
from ...vocabulary.samples import Sample, Scalar, attributes
from ..training_logs.line_formats import LineValue, value_of
from ..training_logs.logged import LoggedLine
from ..training_logs.values import WHAT
from ..wire import WireError
from . import events
from .records import RecordSplitter


def _value(spec: str) -> LineValue:
    return value_of("value", spec)


@dataclass(frozen=True, slots=True)
class MetricTag:
    """Tags that match a pattern whole, and the metric that they are."""

    pattern: DeferredPattern
    value: Annotated[LineValue, row_values.WrittenAs(str, _value)]


@cache
def _rows() -> list[MetricTag]:
    return tables.packaged(MetricTag, __package__ or "", "tags.toml", "tag")


@lru_cache(4096)
def metric_of(tag: str) -> LineValue | None:
    """Return the metric of a tag, None where it is none of ours."""
    text = tag.lower()
    return next((row.value for row in _rows() if row.pattern.fullmatch(text)), None)


def counts_samples(tag: str) -> bool:
    """Tell whether a tag's step counts samples: DeepSpeed's monitor writes such."""
    return tag.lower().startswith("train/samples/")


_STEP, _DURATION = "training.step", "training.step.duration"
_LARGEST_STEP = 10**12
_APART_SECONDS = 1e-5


class EventParser:
    """Reads one event file; for one thread. The counterpart of `training_logs.Parser`.

    rank: who writes it, None: rank 0, as frameworks do where one writes (Megatron the last rank:
    the writer's process says so).
    """

    format = "tensorboard"

    def __init__(self, *, rank: int | None = None, world_size: int | None = None) -> None:
        self._records = RecordSplitter()
        self.missed = self._records.missed
        self._step: int | None = None
        self._wrote_at = 0.0
        self._sent_at = -math.inf
        self._timed = False
        self._read = 0
        self.attribute(rank=rank, world_size=world_size, local_ranks=None)

    def attribute(
        self,
        *,
        rank: int | None,
        world_size: int | None,  # noqa: ARG002  as for a log
        local_ranks: Mapping[int, int] | None,  # noqa: ARG002  the same
    ) -> None:
        """Say who writes it from now on."""
        self._rank = 0 if rank is None else rank

    def feed(
        self,
        data: bytes,
        at: float | None = None,  # noqa: ARG002  events carry their own time
        since: float | None = None,  # noqa: ARG002  the same
    ) -> list[LoggedLine]:
        """Take the next bytes; return what the records that they end report."""
        found: list[LoggedLine] = []
        for record in self._records.feed(data):
            self._read += 1
            try:
                event = events.read(record)
            except (WireError, struct.error):
                self.missed["form"] += 1
                continue
            if event.scalars and (logged := self._logged(event)) is not None:
                found.append(logged)
        return found

    def end(self, at: float | None = None) -> list[LoggedLine]:  # noqa: ARG002  as for a log
        """Take the end of the file: a torn record is none."""
        return []

    def skip(self, lines: int = 0) -> None:  # noqa: ARG002  as for a log
        """Note that bytes were left out here."""
        self._records.lose()

    def _logged(self, event: events.ScalarEvent) -> LoggedLine | None:
        parts = [
            (metric, tag, value * metric.factor)
            for tag, value in event.scalars
            if (metric := metric_of(tag)) is not None
        ]
        if not parts or not math.isfinite(event.at) or not 0 <= event.step <= _LARGEST_STEP:
            return None
        counted = not all(counts_samples(tag) for _, tag, _ in parts)
        samples: list[Sample] = []
        if event.step != self._step:
            samples += self._begin(event, counted=counted)
        reported: list[Reported] = []
        for metric, _, value in parts:
            self._timed = self._timed or metric.metric == _DURATION
            samples.append(self._sample(metric.metric, value, **dict(metric.attributes)))
            if metric.metric in WHAT and not math.isfinite(value):
                pairs: dict[str, Scalar] = {
                    "what": WHAT[metric.metric], "value": repr(value), "rank": self._rank,
                }  # fmt: skip
                if counted:
                    pairs["step"] = event.step
                reported.append(Reported("training.numeric", self._sent_at, pairs))
        text = ", ".join(f"{tag} {value:g}" for _, tag, value in parts)[:300]
        shown = "".join(one if one.isprintable() and one not in "<>" else "?" for one in text)
        return LoggedLine(self._read, event.at, shown, tuple(samples), tuple(reported))

    def _begin(self, event: events.ScalarEvent, *, counted: bool) -> Iterator[Sample]:
        """Begin a step: its values share the time at which the first was written."""
        steps = event.step - self._step if self._step is not None else 0
        took = event.at - self._wrote_at
        self._step, self._wrote_at = event.step, event.at
        self._sent_at = max(event.at, self._sent_at + _APART_SECONDS)
        if not counted:
            return
        yield self._sample(_STEP, float(event.step))
        if steps > 0 and took > 0 and not self._timed:
            yield self._sample(_DURATION, took / steps, quality="estimated")

    def _sample(self, metric: str, value: float, **more: Scalar) -> Sample:
        pairs: dict[str, Scalar | None] = {"rank": self._rank, "source": "log", **more}
        return Sample(metric, value, self._sent_at, attributes(pairs))
