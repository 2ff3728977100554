"""What the logs of a job tell, gathered before it is known which rank runs where."""

from dataclasses import dataclass, field, replace
from datetime import tzinfo

from ...vocabulary.samples import Event, Sample, Scalar
from . import job_span
from .endings import UNDATED, RankEndings
from .hangs import CollectiveHang
from .job_size import JobSurvey
from .job_span import JobSpan
from .kernel_logs import KernelContents
from .launches import LaunchRecord
from .port_lines import PortLines
from .startup import StartUp
from .victims import LineVictims, RankWhereabouts


@dataclass(slots=True)
class LoggedProcess:
    """What logs tell about a rank's process: where it runs, and when it was seen to live."""

    host: str = ""
    pid: int | None = None
    hw_id: str | None = None
    first: float | None = None
    last: float | None = None

    def lives(self, at: float) -> None:
        self.first = at if self.first is None else min(self.first, at)
        self.last = at if self.last is None else max(self.last, at)


@dataclass(slots=True)
class LogContents:
    """Everything that logs report, before it is known which rank runs where."""

    zone: tzinfo | None
    samples: list[tuple[int | None, Sample]] = field(default_factory=list)
    events: list[tuple[int | None, str, Event]] = field(default_factory=list)
    processes: dict[int, LoggedProcess] = field(default_factory=dict)
    start: StartUp = field(default_factory=StartUp)
    endings: RankEndings = field(default_factory=RankEndings)
    hang: CollectiveHang = field(default_factory=CollectiveHang)
    survey: JobSurvey = field(default_factory=JobSurvey)
    whose: dict[str, int | None] = field(default_factory=dict)
    """Whose log each file is, None where it is nobody's alone."""
    launches: LaunchRecord = field(default_factory=LaunchRecord)
    settled: list[tuple[int | None, str, Event]] = field(default_factory=list)
    """What launchers' lines mean, by rank and host."""
    kernels: KernelContents = field(default_factory=KernelContents)
    ports: PortLines = field(default_factory=PortLines)

    def span(self) -> JobSpan | None:
        """Return when the job ran, by its own lines and its dumps."""
        samples = [sample for _, sample in self.samples]
        if self.endings.stood is not None:
            samples.append(Sample("collective.enqueued", 0.0, self.endings.stood, ()))
        return job_span.span(samples, (event for _, _, event in self.events))

    def victims(self) -> LineVictims:
        """Return what a kernel's lines are matched with."""
        endings = self.endings
        sizes = (
            number(event.attributes.get("communicator.size"))
            for _, _, event in self.events
            if event.name == "collective.communicator"
        )
        return LineVictims(
            {
                rank: RankWhereabouts(one.host, one.pid, one.hw_id)
                for rank, one in self.processes.items()
            },
            endings.exits,
            endings.logs - endings.faults if endings.faults else frozenset(),
            max((size or 0 for size in sizes), default=0),
        )

    def shift(self, seconds: float) -> None:
        """Move all times by so much: those of logs, whose zone was another one."""

        def moved(at: float) -> float:
            return at + seconds if at >= UNDATED else at

        self.samples = [(rank, replace(one, at=moved(one.at))) for rank, one in self.samples]
        self.events = [
            (rank, file, replace(one, at=moved(one.at))) for rank, file, one in self.events
        ]
        for process in self.processes.values():
            process.first = None if process.first is None else moved(process.first)
            process.last = None if process.last is None else moved(process.last)
        self.hang.shift(seconds)

    def process(self, rank: int) -> LoggedProcess:
        """Return what is known of a rank's process."""
        return self.processes.setdefault(rank, LoggedProcess())

    def learn_process(self, event: Event, rank: int | None, at: float | None) -> None:
        """Take an event of a rank, written at `at`, s since the epoch: where it runs, and lives."""
        if rank is None:
            return
        if event.name == "collective.communicator":
            process = self.process(rank)
            process.host = str(event.attributes["host"])
            process.pid = number(event.attributes.get("pid"))
            process.hw_id = f"pci:{event.attributes['pci.bus_id']}"
        if at is not None and event.name != "process.exit":
            self.process(rank).lives(at)

    def has_log(self, rank: int | None) -> None:
        """Note that there is a log of a rank."""
        if rank is not None:
            self.endings.logs.add(rank)
            self.process(rank)


def number(value: Scalar | None) -> int | None:
    """Return a value where it is a whole number."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None
