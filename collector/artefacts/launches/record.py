"""What launchers and schedulers said of the ends of a job, gathered file by file.

`settlement` says what it means; here stands who said what, in which order.
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import tzinfo

from ....formats.training_logs import launchers
from ....formats.training_logs.launchers import LaunchReport
from ..found import ArtefactContents, LogQuote
from ..walk.blocks import LogBlock, TextGroup

_TRACEBACK_LINES = 300
"""A traceback that a launcher quotes is no longer."""

_SHELL, _PROMPT = "shell.process_ended", "shell.prompt"
_PROGRAMS = (_SHELL, "python.process_ended", "process.ended_by_signal")
"""What says that some program ended, which may be another one than the training."""

_NODE_LAUNCHERS = ("torchrun.", "deepspeed.")
"""Launchers that start all ranks of one node, and are one task of another launcher's."""

_ASKED, _FAILED = "torchrun.asked", "torchrun.worker_failed"
_RAY_PLACE = "ray.worker_place"
_APART_SECONDS = 2.0
"""torchrun asks all processes of a node to end at once, and starts them again no sooner."""


@dataclass(frozen=True, slots=True)
class FiledReport:
    """A report, and the file that it stands in."""

    file: str
    report: LaunchReport

    @property
    def place(self) -> tuple[str, int]:
        """Return the file and the line."""
        return self.file, self.report.line

    @property
    def order(self) -> tuple[float, str, int]:
        """Return what sorts reports by time, those of one file by their lines."""
        return self.report.at or 0.0, self.file, self.report.line


class LaunchFile:
    """Follows the blocks of one log; what launchers report in it goes to `reports`."""

    def __init__(
        self, name: str, reports: list[FiledReport], zone: tzinfo | None, near: float | None
    ) -> None:
        self._name = name
        self._reports = reports
        self._begin = len(reports)
        self._lines = launchers.LaunchLines(zone, near)

    def learn(self, block: LogBlock) -> None:
        """Take the next block."""
        places = [place for place, _ in block.line_places[TextGroup.LAUNCHERS]]
        self._take(self._lines.block(block.lines, places))

    def end(self) -> int:
        """Take the end of the log; return how many of its lines say something."""
        self._take(self._lines.end())
        later: float | None = None
        new = range(self._begin, len(self._reports))
        for number in reversed(new):
            report = self._reports[number].report
            if report.at is None:  # before the first line with a time
                report = replace(report, at=later)
                self._reports[number] = FiledReport(self._name, report)
            later = report.at
        return sum(self._reports[number].report.form.kind != "place" for number in new)

    def of_shells(self) -> list[LaunchReport]:
        """Return what shells said of ends: they name nobody, and may mean some other program."""
        own = (one.report for one in self._reports[self._begin :])
        return [one for one in own if one.form.name in _PROGRAMS]

    def undated(self) -> list[int]:
        """Return the lines of reports of which no line tells the time."""
        own = (one.report for one in self._reports[self._begin :])
        return [one.line for one in own if one.at is None]

    def drop(self, lines: Container[int]) -> None:
        """Forget what shells said on some lines, and the prompts behind these."""
        self._reports[self._begin :] = [
            one
            for one in self._reports[self._begin :]
            if not (one.report.form.name in _PROGRAMS and one.report.line in lines)
            and not (
                one.report.form.name == _PROMPT
                and any(one.report.line - behind in lines for behind in (1, 2))
            )
        ]

    def _take(self, found: Iterable[LaunchReport]) -> None:
        self._reports += [FiledReport(self._name, one) for one in found]


@dataclass(slots=True)
class LaunchRecord:
    """All reports of the launchers of a job, in the order of their files and lines."""

    reports: list[FiledReport] = field(default_factory=list[FiledReport])

    def raised_in(self, name: str, line: int) -> int | None:
        """Return the rank whose traceback a launcher quotes at a line of a file, None for none."""
        before = [
            one.report
            for one in self.reports
            if one.file == name
            and one.report.form.kind == "raised"
            and 0 < line - one.report.line <= _TRACEBACK_LINES
        ]
        return before[-1].tasks[0] if before and before[-1].tasks else None

    def of_kind(self, *kinds: str) -> list[FiledReport]:
        """Return the reports of some kinds, the first one first."""
        return sorted(
            (one for one in self.reports if one.report.form.kind in kinds),
            key=lambda one: one.order,
        )

    @property
    def size(self) -> int:
        """Return how many ranks the job has at least, by what launchers say; 0: nothing."""
        named = [1 + max(one.report.tasks) for one in self.reports if one.report.tasks]
        return max([self._torchrun(), *named, *(one.report.size for one in self.reports)])

    def _torchrun(self) -> int:
        """Return how many processes torchrun started at least, by those that it saw or made end."""
        most = sum(max(len(_pids(life)) for life in lives) for lives in self._lives().values())
        seen = any(one.report.form.name == _FAILED for one in self.reports)
        return most + (1 if most and not seen else 0)

    @property
    def restarted(self) -> set[tuple[str, int]]:
        """Return the places of ends after which a launcher started all processes anew."""
        failed = {
            one.place
            for lives in self._lives().values()
            for life in lives[:-1]
            for one in life
            if one.report.form.name == _FAILED
        }
        begun = self._begun_anew()
        return failed | {
            one.place for one in self.reports if one.report.line < begun.get(one.file, 0)
        }

    def _begun_anew(self) -> Mapping[str, int]:
        """Return by file the line where Ray last lists other processes for the ranks it had."""
        found: dict[str, int] = {}
        pids: dict[tuple[str, int], int] = {}
        for one in self.reports:
            report = one.report
            if report.form.name != _RAY_PLACE or report.pid is None:
                continue
            for rank in report.tasks:
                if pids.setdefault((one.file, rank), report.pid) != report.pid:
                    pids[one.file, rank] = report.pid
                    found[one.file] = report.line
        return found

    def _lives(self) -> Mapping[str, list[list[FiledReport]]]:
        """Return by file what torchrun wrote of each start of its processes.

        A life is over with a process that failed. Where all were started anew since one of another
        node had failed, the launcher only says whom it asked to end, all in one moment.
        """
        found: dict[str, list[list[FiledReport]]] = {}
        for one in self.reports:
            asked = one.report.form.name == _ASKED
            if not asked and one.report.form.name != _FAILED:
                continue
            lives = found.setdefault(one.file, [])
            if not lives or (asked and _begins_anew(lives[-1], one)):
                lives.append([])
            lives[-1].append(one)
        return found

    @property
    def places(self) -> Mapping[int, tuple[str, int | None]]:
        """Return host and pid of ranks, where launchers say them."""
        found: dict[int, tuple[str, int | None]] = {}
        for one in self.reports:
            report = one.report
            if report.form.kind != "place" or report.form.counts != "rank":
                continue
            host = "" if report.host == "localhost" else report.host
            if host or report.pid is not None:
                found |= dict.fromkeys(report.tasks, (host, report.pid))
        return found

    @property
    def hosts(self) -> set[str]:
        """Return the hosts of the job of which a launcher does not say what runs there."""
        listed = (one.report for one in self.of_kind("place") if not one.report.pod)
        return {one.host for one in listed if one.host and not one.tasks}

    @property
    def nodes(self) -> Mapping[str, str]:
        """Return the nodes of pods, where anything says them: the last one of each."""
        return {
            one.report.pod: one.report.host
            for one in self.of_kind("place")
            if one.report.pod and one.report.host
        }

    def per_task(self, size: int) -> int:
        """Return how many ranks each task of a scheduler is, of a job of so many ranks.

        More than one where the tasks are launchers of nodes: torchrun under srun.
        """
        tasks = [max(one.report.tasks) for one in self.reports
                 if one.report.form.counts == "task" and one.report.tasks]  # fmt: skip
        inner = any(one.report.form.name.startswith(_NODE_LAUNCHERS) for one in self.reports)
        if not tasks or not inner:
            return 1
        return max(1, size // (max(tasks) + 1))

    def quote(
        self, found: ArtefactContents, roots: Mapping[tuple[str, int], int | None], size: int
    ) -> None:
        """Add the lines as quotes, where they are none yet, of a job of `size` ranks.

        `roots`: those of the cause, and the rank of each where it is one.
        """
        each = self.per_task(size)
        known = {(quote.file, quote.line) for quote in found.quotes}
        for one in self._telling():
            place = one.place
            if place in known:
                continue
            report = one.report
            rank = roots.get(place)
            whose = rank
            if (
                whose is None
                and len(report.tasks) == 1
                and (each == 1 or report.form.counts == "rank")
            ):
                whose = report.tasks[0]
            role = "root" if place in roots else "confirmation"
            found.quotes.append(
                LogQuote(*place, report.at, whose, report.form.name, role, report.text)
            )

    def _telling(self) -> Iterator[FiledReport]:
        return (one for one in self.reports if one.report.form.kind != "place")


def _begins_anew(life: list[FiledReport], asked: FiledReport) -> bool:
    """Tell whether a process that is asked to end is of another start than those before it."""
    last, at = life[-1].report, asked.report.at
    if last.form.name == _FAILED:
        return True
    later = at is not None and last.at is not None and at - last.at > _APART_SECONDS
    return later and asked.report.pid not in _pids(life)


def _pids(life: Iterable[FiledReport]) -> set[int | None]:
    return {one.report.pid for one in life}
