"""Who something belongs to, and where it goes: to the page's values and to what leaves the node."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..vocabulary.datagram import ProbeDatagram
from ..vocabulary.profiling import EVENT
from ..vocabulary.samples import (
    CLAIMED,
    Event,
    Sample,
    Scalar,
    TelemetryResource,
    attributes,
)
from .attribution import DeviceAttribution
from .device_faults import FaultTracker
from .exits import ExitWatch, ProcessExit
from .health import AgentHealth
from .hung import HungProcesses
from .inbox import ReceivedDatagram
from .latest import LatestValues
from .names import NodeNames
from .outgoing import OutgoingTelemetry
from .process_reports import ProcessReports
from .readers import NodeReader
from .repeats import RepeatedReadings
from .series_owners import SeriesOwners
from .step_ends import StepEnds
from .trainers import LAUNCHED, TrainerProcess, TrainerRegister
from .training_logs import LaunchedProcesses, LogBatch

if TYPE_CHECKING:
    from .dcgm_names import DcgmPage
    from .profiling import ProfileService


class TelemetryRouter:
    """Takes what was received, read and seen to end, on the agent's main thread.

    Without `outgoing` nothing is pushed and everything else works.
    """

    def __init__(
        self,
        *,
        names: NodeNames,
        trainers: TrainerRegister,
        latest: LatestValues,
        exits: ExitWatch,
        outgoing: OutgoingTelemetry | None,
        health: AgentHealth,
        attribution: DeviceAttribution,
        fault_tracker: FaultTracker,
        dcgm_page: "DcgmPage | None" = None,
        profiling: "ProfileService | None" = None,
        hung: HungProcesses | None = None,
    ) -> None:
        self._names = names
        self._trainers = trainers
        self._latest = latest
        self._exits = exits
        self._outgoing = outgoing
        self._health = health
        self._attribution = attribution
        self._fault_tracker = fault_tracker
        self._owners = SeriesOwners()
        self._repeated = RepeatedReadings()
        self._dcgm_page = dcgm_page
        self._profiling = profiling
        self._hung = hung
        self._step_ends = StepEnds()
        self._reports = ProcessReports(health=health, stacks=hung is not None)

    def receive(self, received: ReceivedDatagram, now: float) -> None:
        """Take a probe's datagram: its sender is watched from now on."""
        trainer, forgotten = self._trainers.receive(received, now)
        if forgotten is not None:
            self._latest.forget(forgotten.key)
            if forgotten.pid is not None and forgotten.key != trainer.key:
                self._exits.forget(forgotten.pid)
        if trainer.pid is not None:
            self._exits.watch(trainer.pid)
        samples = self._reports.samples(received.datagram.samples, trainer)
        events = self._reports.events(received.datagram.events, trainer)
        if trainer.container_pid is not None:
            samples = [_sample_from_host(sample, trainer) for sample in samples]
            events = [_event_from_host(event, trainer) for event in events]
        if trainer.started_at is not None:
            samples = [_with_start(sample, trainer.started_at) for sample in samples]
        self._attribution.receive(trainer, samples)
        self._step_ends.note((trainer.job, trainer.attempt, trainer.rank), samples)
        resource = self._names.of(trainer)
        self._latest.receive(trainer.key, resource, samples, now, claimed=bool(trainer.doubt))
        if self._outgoing:
            self._outgoing.add(resource, samples)
            self._outgoing.emit(resource, events)
        answer = next((event for event in events if event.name == EVENT), None)
        if answer is not None and self._profiling:
            self._profiling.take(trainer, answer.attributes, received.file)
        elif answer is None and received.file is not None and self._hung:
            self._hung.hold(trainer, received.file)

    def adopt(self, launched: LaunchedProcesses, now: float) -> None:
        """Take the ranks' processes that a look at this node found: those without a probe.

        From then on what is read of such a process goes with its job, as that of any other.
        """
        for one in launched.processes:
            if self._trainers.reports(one.pid):
                continue
            pairs: dict[str, Scalar] = {
                "rank": one.rank,
                "local_rank": one.local_rank,
                "world_size": one.world_size,
                "pid": one.pid,
                "source": "log",
            }
            info = Sample("training.rank.info", 1.0, now, attributes(pairs))
            sent = ProbeDatagram(one.job, one.attempt, one.rank, one.pid, samples=(info,))
            self.receive(ReceivedDatagram(sent, one.pid, LAUNCHED), now)

    def route(self, reader: NodeReader, samples: Sequence[Sample], now: float) -> None:
        """Take a reading: what is about a rank's process goes with its job, the rest is the node's.

        What is about a process that ended while it was being read is nobody's, and left out.
        """
        self._attribution.observe(samples)
        if self._dcgm_page:
            self._dcgm_page.observe(samples)
        self._fault_tracker.observe(samples, now, native=reader.name != "exporters")
        placed: list[tuple[TelemetryResource, Sample]] = []
        ours: list[Sample] = []
        node = self._names.node()
        owner_of, rank_of = self._owners.of, self._attribution.rank_of
        any_rank = self._attribution.placed
        for sample in samples:
            series = owner_of(sample.attributes)
            if series.pid is not None:
                owner = self._trainers.owner_of(series.pid)
                if owner is not None:
                    resource = self._names.of(owner)
                    if owner.doubt:
                        sample = series.as_claimed(sample)
                    placed.append((resource, sample))
                    if self._outgoing:
                        self._outgoing.add(resource, (sample,))
                    continue
            if series.of_rank:
                continue
            if any_rank and series.hw_id is not None:
                # With the rank on it, when exactly one is placed on the device.
                rank = rank_of(series.hw_id)
                if rank is not None:
                    sample = series.with_rank(sample, rank)
            ours.append(sample)
            placed.append((node, sample))
        if self._outgoing and ours:
            alone = not self._outgoing.gathered
            if not self._repeated.hold(reader.name, reader.period, ours, now, alone=alone):
                self._outgoing.add(node, ours)
        self._latest.read(reader.name, placed, period=reader.period, now=now)

    def emit(self, event: Event) -> None:
        """Take an event of a reader: it leaves at once, with the job of the process it is about.

        That of a process whose job is only claimed is the node's.
        """
        pid = event.attributes.get("pid")
        owner = self._trainers.at(pid, event.at)
        if owner is not None and owner.doubt:
            owner = None
        if owner is not None and "rank" not in event.attributes:
            pairs = {**event.attributes, "rank": owner.rank}
            event = Event(event.name, event.at, pairs)
        self._health.count("events", event.name)
        if self._outgoing:
            resource = self._names.of(owner) if owner else self._names.node()
            self._outgoing.emit(resource, [event])

    def report(self, batch: LogBatch, now: float) -> None:
        """Take what logs of a job reported: it leaves with the job, events at once.

        The end of a process that is watched is reported by who watches it, with what the kernel
        says.
        """
        resource = self._names.attempt(batch.job, batch.attempt, host=batch.host)
        events = [
            event
            for event in batch.events
            if event.name != "process.exit"
            or (ended := self._trainers.at(event.attributes.get("pid"), event.at)) is None
            or not ended.probed
        ]
        for event in events:
            self._health.count("events", event.name)
        self._show(batch, resource)
        if self._hung and batch.samples:
            self._hung.pauses.logged((batch.job, batch.attempt), now)
        if self._outgoing:
            joined = self._step_ends.joined(batch.job, batch.attempt, batch.samples)
            self._outgoing.add(resource, joined)
            self._outgoing.emit(resource, events)

    def _show(self, batch: LogBatch, resource: TelemetryResource) -> None:
        """Put on the page what logs report of ranks that do not report themselves."""
        for trainer in self._trainers.everyone() if batch.samples else ():
            if trainer.probed or (trainer.job, trainer.attempt) != (batch.job, batch.attempt):
                continue
            mine = ("rank", trainer.rank)
            own = [sample for sample in batch.samples if mine in sample.attributes]
            if own:
                self._latest.receive(trainer.key, resource, own, own[-1].at)

    def announce(self, phase: str, now: float, **more: Scalar) -> None:
        """Send `agent.lifecycle` of this node, after all that was gathered before it.

        Without it a collector could not tell an agent that was stopped from a host that died.
        """
        self._health.count("events", "agent.lifecycle")
        if self._outgoing:
            self._outgoing.flush()
            event = Event("agent.lifecycle", now, {"phase": phase, **more})
            self._outgoing.emit(self._names.node(), [event])

    def end(self, ended: ProcessExit, now: float) -> None:
        """Take the end of a process: its last steps and then its exit leave at once."""
        for trainer in self._trainers.everyone():
            if trainer.pid == ended.pid:
                self._report(trainer, ended, now)
                self._forget(trainer, now)

    def forget_silent(self, *, before: float, now: float) -> None:
        """Forget senders whose end nobody sees and that were silent since a time."""
        for trainer in self._trainers.silent_since(before):
            self._forget(trainer, now)

    def _report(self, trainer: TrainerProcess, ended: ProcessExit, now: float) -> None:
        code = ended.exit_code
        if ended.status is None and trainer.phase == "shutdown":
            code = 0  # nobody could tell, but it had announced that it was done
        pairs: dict[str, Scalar] = {"rank": trainer.rank, "pid": ended.pid}
        if code is not None:
            pairs["exit_code"] = code
        if ended.signal is not None:
            pairs["signal"] = ended.signal
        if trainer.doubt:
            pairs |= CLAIMED
        self._health.count("exits")
        if not trainer.probed and code is None and ended.signal is None:
            return  # it may have ended in order: nobody can tell, and it announces nothing
        if self._outgoing:
            self._outgoing.flush()
            self._outgoing.emit(self._names.of(trainer), [Event("process.exit", now, pairs)])

    def _forget(self, trainer: TrainerProcess, now: float) -> None:
        self._trainers.forget(trainer, now)
        self._latest.forget(trainer.key)
        self._step_ends.forget((trainer.job, trainer.attempt, trainer.rank))
        if trainer.pid is not None:
            self._latest.forget_pid(trainer.pid)
            self._exits.forget(trainer.pid)


def _with_start(sample: Sample, started_at: float) -> Sample:
    """Put a process's start beside its rank: a restart shows where nobody numbers attempts."""
    if sample.metric != "training.rank.info":
        return sample
    pairs = attributes({**dict(sample.attributes), "process.start_time": int(started_at)})
    return Sample(sample.metric, sample.value, sample.at, pairs)


def _sample_from_host(sample: Sample, trainer: TrainerProcess) -> Sample:
    pairs = tuple((name, _from_host(name, value, trainer)) for name, value in sample.attributes)
    return Sample(sample.metric, sample.value, sample.at, pairs)


def _event_from_host(event: Event, trainer: TrainerProcess) -> Event:
    pairs = {name: _from_host(name, value, trainer) for name, value in event.attributes.items()}
    return Event(event.name, event.at, pairs)


def _from_host(name: str, value: Scalar, trainer: TrainerProcess) -> Scalar:
    """Put the host's pid in the place of the one a process has in its own namespace."""
    if name == "pid" and value == trainer.container_pid and trainer.pid is not None:
        return trainer.pid
    return value
