"""What the logs of a job tell, gathered before it is known which rank runs where."""

from dataclasses import dataclass, field, replace
from datetime import tzinfo

from ....vocabulary.samples import Event, Sample, Scalar
from ..collectives.hangs import CollectiveHang
from ..hosts.kernel_logs import KernelContents
from ..hosts.victims import LineVictims
from ..job import span
from ..job.endings import UNDATED, RankEndings
from ..job.size import JobSurvey
from ..job.span import JobSpan
from ..job.startup import StartUp
from ..job.whereabouts import RankWhereabouts
from ..launches.record import LaunchRecord
from .own_ends import OwnEnds
from .port_lines import PortLines
from .runs import StepFall
from .succession import LogSuccession


@dataclass(slots=True)
class LogContents:
    """Everything that logs report, before it is known which rank runs where."""

    zone: tzinfo | None
    samples: list[tuple[int | None, Sample]] = field(default_factory=list)
    events: list[tuple[int | None, str, Event]] = field(default_factory=list)
    processes: dict[int, RankWhereabouts] = field(default_factory=dict)
    start: StartUp = field(default_factory=StartUp)
    endings: RankEndings = field(default_factory=RankEndings)
    hang: CollectiveHang = field(default_factory=CollectiveHang)
    survey: JobSurvey = field(default_factory=JobSurvey)
    whose: dict[str, int | None] = field(default_factory=dict)
    """Whose log each file is, None where it is nobody's alone."""
    answering: set[str] = field(default_factory=set[str])
    """Logs that may hold answers of RAS."""
    tabled: set[str] = field(default_factory=set[str])
    """Logs that may hold tables of devices or hosts."""
    stacked: set[str] = field(default_factory=set[str])
    """Logs that may hold dumps of stacks."""
    checking: set[str] = field(default_factory=set[str])
    """Logs that may hold results of other tools' checks."""
    wrote: set[str] = field(default_factory=set[str])
    """Hosts of which NCCL says that it wrote lines there."""
    launches: LaunchRecord = field(default_factory=LaunchRecord)
    stepped: dict[str, int] = field(default_factory=dict[str, int])
    """By log the first line with a value of training."""
    done: dict[str, int] = field(default_factory=dict[str, int])
    """By log the line near its end that says that the training is complete; 0 where no report
    without a time is to be compared with it."""
    outlived: set[tuple[str, int]] = field(default_factory=set[tuple[str, int]])
    """Places of what launchers say, without a time, where the run goes on below."""
    settled: list[tuple[int | None, str, Event]] = field(default_factory=list)
    """What launchers' lines mean, by rank and host."""
    kernels: KernelContents = field(default_factory=KernelContents)
    ports: PortLines = field(default_factory=PortLines)
    succession: LogSuccession = field(default_factory=LogSuccession)
    own_ends: OwnEnds = field(default_factory=OwnEnds)
    falls: list[StepFall] = field(default_factory=list[StepFall])

    def span(self) -> JobSpan | None:
        """Return when the job ran, by its own lines and its dumps."""
        samples = [sample for _, sample in self.samples]
        if self.endings.stood is not None:
            samples.append(Sample("collective.enqueued", 0.0, self.endings.stood, ()))
        return span.span(samples, (event for _, _, event in self.events))

    def victims(self) -> LineVictims:
        """Return what a kernel's lines are matched with."""
        endings = self.endings
        sizes = (
            number(event.attributes.get("communicator.size"))
            for _, _, event in self.events
            if event.name == "collective.communicator"
        )
        return LineVictims(
            self.processes,
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

    def process(self, rank: int) -> RankWhereabouts:
        """Return what is known of a rank's process."""
        return self.processes.setdefault(rank, RankWhereabouts())

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
