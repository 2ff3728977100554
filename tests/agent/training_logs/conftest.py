"""A folder of logs and a follower of it."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from rankscope.agent.health import AgentHealth
from rankscope.agent.rank_processes import RankProcesses
from rankscope.agent.settings import LogFiles
from rankscope.agent.training_logs import LaunchedProcesses, LogBatch, LogFollower, LogSources
from rankscope.agent.training_logs.positions import FilePositions

AT = 1_787_000_000.0


def line(step, loss=2.5):
    return f"iter {step}: loss {loss}, time 100.00ms\n"


@dataclass
class Node:
    """A folder of logs, named by the settings, and a follower of it whose time is the test's."""

    folder: Path
    state: Path
    now: float = AT
    used: float = 0.0
    cost: float = 0.0
    batches: list[LogBatch] = field(default_factory=list)
    launched: list[LaunchedProcesses] = field(default_factory=list)
    health: AgentHealth = field(default_factory=AgentHealth)

    def start(self, *, files=None, follow=False, share=0.04, proc=Path("/proc")):
        named = files or [LogFiles(path=f"{self.folder}/*.log", job="job-1", world_size=4)]
        return LogFollower(
            sources=LogSources(processes=RankProcesses(proc) if follow else None, named=named),
            positions=FilePositions(self.state),
            health=self.health,
            deliver=self.deliver,
            share=share,
            cpu=self.cpu,
        )

    def deliver(self, one):
        (self.batches if isinstance(one, LogBatch) else self.launched).append(one)

    def cpu(self):
        self.used += self.cost
        return self.used

    def turn(self, follower, seconds=6.0):
        self.now += seconds
        follower.turn(self.now)
        found, self.batches[:] = list(self.batches), []
        return found

    def steps(self, follower, seconds=6.0):
        return [
            (int(sample.value), dict(sample.attributes)["rank"])
            for batch in self.turn(follower, seconds)
            for sample in batch.samples
            if sample.metric == "training.step"
        ]


@pytest.fixture
def node(tmp_path):
    (tmp_path / "logs").mkdir()
    (tmp_path / "state").mkdir()
    return Node(tmp_path / "logs", tmp_path / "state")


def append(path, *lines):
    with path.open("a") as file:
        file.write("".join(lines))
