"""One log of a job: each of its blocks goes to launchers', ranks' and kernels' readers in turn."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ....formats.training_logs import LoggedLine, TrainingLogParser, exports
from ....vocabulary.samples import Event, Sample, Scalar, attributes
from ..collectives import differing, horovod
from ..found import ArtefactContents, LogQuote
from ..job.startup import ProcessPlace
from ..launches.exits import ASKED
from ..launches.record import LaunchFile
from ..walk import blocks
from ..walk.blocks import TextGroup
from ..walk.telling_lines import TellingLines
from .contents import LogContents, number
from .nonfinite import NonfiniteQuotes
from .survival import LogSurvival
from .unknown_lines import UnknownLines

_QUOTED = frozenset({"log.fault", "gpu.fault", "host.oom_kill"})
_STEP = "training.step"
_MERGED = b"x across cluster]"
"""Ray prints one line of all ranks whose lines differ in numbers alone, that of whoever spoke last:
a rank that is not seen has not fallen silent (findings/ray_merges_lines_that_differ_in_numbers.sh).
"""
_SHOWN_BYTES = 256 << 20
"""How far it is in a log is said each time after so many bytes."""


class LogReading:
    """Reads one log into what is gathered of a job.

    `groups` holds the names of its rank's groups by their description.
    """

    def __init__(
        self,
        name: str,
        path: Path,
        groups: Mapping[str, str],
        gathered: LogContents,
        found: ArtefactContents,
    ) -> None:
        self._name = name
        self._path = path
        self._gathered = gathered
        self._found = found
        self._rank = gathered.whose.get(name)
        self._begins = len(gathered.samples), len(gathered.events)
        self._survival = LogSurvival(path)
        self._merged = False
        self._nonfinite, self._unknown = NonfiniteQuotes(name), UnknownLines(name)
        self._parser = TrainingLogParser(
            rank=self._rank,
            groups=groups,
            zone=gathered.zone,
            near=gathered.survey.near,
            unknown=self._unknown.learn,
        )
        self.telling = TellingLines(path)

    def read(self) -> int:
        """Read it; return how many of its lines say something. Raises OSError."""
        gathered, place = self._gathered, ProcessPlace()
        launched = LaunchFile(
            self._name, gathered.launches.reports, gathered.zone, gathered.survey.near
        )
        self._found.reading(self._name)
        said = done = 0
        with self._path.open("rb") as opened:
            held = exports.held(opened)
            for block in blocks.blocks(opened):
                launched.learn(block)
                self.telling.learn(block)
                self._merged = self._merged or _MERGED in block.data
                if block.places[TextGroup.RAS]:
                    gathered.answering.add(self._name)
                if block.places[TextGroup.TABLES]:
                    gathered.tabled.add(self._name)
                if block.places[TextGroup.STACKS]:
                    gathered.stacked.add(self._name)
                if block.places[TextGroup.CHECKS]:
                    gathered.checking.add(self._name)
                if place.learn(block.lines) and self._rank is not None:
                    process = gathered.process(self._rank)
                    process.host, process.pid = place.found or ("", None)
                if not held:
                    places = block.places[TextGroup.TRAINING]
                    said += self._take(self._parser.feed(block.data, places=places))
                done += len(block.data)
                if done // _SHOWN_BYTES > (done - len(block.data)) // _SHOWN_BYTES:
                    self._found.reading(f"{self._name}, {done / 1e9:.1f} GB of it")
        gathered.wrote |= place.hosts
        said += self._take(self._parser.feed(b"".join(held))) if held else 0
        said += self._take(self._parser.end()) + launched.end()
        for report in launched.of_shells():
            self._survival.shell(report.line, asked=report.code in ASKED)
        undated = launched.undated()
        if (first := self._survival.first) is not None:
            gathered.stepped[self._name] = first
        gathered.outlived |= {(self._name, line) for line in self._survival.outlived(undated)}
        if (first is not None or undated) and self._survival.done():
            # To number it takes a walk over the whole log.
            gathered.done[self._name] = self._survival.done_at() if undated else 0
        launched.drop(self._close())
        return said

    def _take(self, lines: Iterable[LoggedLine]) -> int:
        """Take lines that report something; return how many there were."""
        count = 0
        for line in lines:
            count += 1
            values = self._rank
            for sample in line.samples:
                values = self._sample(line, sample)
            for event in line.events:
                self._event(line, event)
            self._nonfinite.learn(line, values)
            self._survival.runs.learn(line, values)
        return count

    def _sample(self, line: LoggedLine, sample: Sample) -> int | None:
        """Take a value of a line; return whose it is."""
        gathered = self._gathered
        own = _rank(dict(sample.attributes), self._rank)
        self._survival.value(line.line, sample, own)
        gathered.succession.value(sample, gathered.events)
        gathered.samples.append((own, sample))
        gathered.hang.went_on(own, self._name, line.line)
        if own is not None and line.at is not None:
            gathered.process(own).lives(line.at)
        return own

    def _event(self, line: LoggedLine, event: Event) -> None:
        gathered = self._gathered
        own = _rank(event.attributes, self._rank)
        if own is None and event.attributes.get("role") == "root":
            own = gathered.launches.raised_in(self._name, line.line)
        if horovod.is_stall(event):
            gathered.hang.stalled.last = self._name, line.line
        event = gathered.hang.learn(event, own, line.at)
        if own is not None:
            gathered.hang.files[self._name].add(own)
        if line.at is None or horovod.is_stall(event):
            self._survival.error(line.line, event, own)
        both = differing.of_peer(event, own)
        for whose, said in ((own, event), (None, gathered.ports.read(event)), both or (None, None)):
            if said is not None:
                self._survival.event(line.line, said, len(gathered.events))
                gathered.succession.event(said, len(gathered.events))
                gathered.events.append((whose, "", said))
        gathered.learn_process(event, own, line.at)
        gathered.start.learn(event, own)
        gathered.endings.learn(event, own)
        self._quote(event, own, line)

    def _quote(self, event: Event, rank: int | None, line: LoggedLine) -> None:
        if event.name not in _QUOTED:
            return
        signature = str(event.attributes.get("signature") or event.attributes.get("code") or "")
        role = str(event.attributes.get("role") or "root")
        text = str(event.attributes.get("text", ""))
        self._found.quotes.append(
            LogQuote(self._name, line.line, line.at, rank, signature, role, text)
        )

    def _close(self) -> set[int]:
        """Take back what the job survived; add what is known at the end of the log.

        Return the lines of what was survived.
        """
        found, gathered = self._found, self._gathered
        if passed := self._survival.settle(gathered.events):
            gathered.hang.passed(self._name, passed)
            found.quotes = [
                replace(one, role="confirmation")
                if one.file == self._name and one.role != "background" and one.line in passed
                else one
                for one in found.quotes
            ]
        self._end_runs()
        of_samples, of_events = self._begins
        if self._merged:
            gathered.samples += _not_shown(gathered.samples[of_samples:])
        samples = slice(of_samples, len(gathered.samples))
        events = slice(of_events, len(gathered.events))
        gathered.succession.ended(self._name, samples, events)
        gathered.own_ends.ended(samples, events)
        gathered.falls += self._survival.runs.falls
        found.quotes += self._nonfinite.quotes()
        found.unknown += self._unknown.lines()
        return passed

    def _end_runs(self) -> None:
        """Add the end of a run that another one of the same log follows: a process is gone."""
        events = self._gathered.events
        for place, rank in self._survival.ended:
            own, host, event = events[place]
            whose = next((one for one in (rank, own, self._rank) if one is not None), 0)
            events[place] = whose, host, event
            pairs: dict[str, Scalar] = {"rank": whose, "exit_code": 1}
            events.append((whose, host, Event("process.exit", event.at, pairs)))


def _not_shown(rows: Sequence[tuple[int | None, Sample]]) -> list[tuple[int | None, Sample]]:
    """Return the newest step of a log of merged lines for each rank that is last shown before it.

    Ranks of synchronous training end a step together, whichever of them is shown.
    """
    reached: dict[int, Sample] = {}
    for rank, sample in rows:
        if sample.metric == _STEP and rank is not None:
            reached[rank] = max(reached.get(rank, sample), sample, key=lambda row: row.value)
    if not reached:
        return []
    newest = max(reached.values(), key=lambda row: row.value)
    return [
        (rank, replace(newest, attributes=attributes({**dict(newest.attributes), "rank": rank})))
        for rank, sample in reached.items()
        if sample.value < newest.value
    ]


def _rank(pairs: Mapping[str, Scalar], otherwise: int | None) -> int | None:
    found = number(pairs.get("rank"))
    return otherwise if found is None else found
