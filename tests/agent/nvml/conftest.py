"""A supervisor over a stock NVML client, before a driver that misbehaves as it is told."""

import math
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from rankscope.agent.devices import DeviceRegister
from rankscope.agent.health import AgentHealth
from rankscope.agent.nvml import SUBJECTS
from rankscope.agent.nvml.supervisor import WorkerSupervisor
from rankscope.lab.node.nvml import NvmlScenario
from rankscope.vocabulary.samples import Event


@dataclass
class Watched:
    """A supervisor checked ten times a second, and the events it told."""

    scenario: NvmlScenario
    supervisor: WorkerSupervisor
    health: AgentHealth
    devices: DeviceRegister
    events: list[Event] = field(default_factory=list)

    def codes(self, gpu: int | None = None) -> list[str]:
        return [
            str(event.attributes["code"])
            for event in list(self.events)
            if gpu is None or event.attributes["hw.id"] == self.uuid(gpu)
        ]

    def uuid(self, gpu: int) -> str:
        return self.scenario.get(gpu, "uuid") or ""

    def value(self, metric: str, device: int = 0, /, **pairs: object) -> float:
        """Return the newest value of a device's series; keys with _ for dots."""
        wanted = {name.replace("_", "."): value for name, value in pairs.items()}
        wanted["hw.id"] = self.uuid(device)
        for subject in SUBJECTS:
            for sample in self.supervisor.samples(subject, since=0.0):
                if sample.metric == metric and wanted.items() <= dict(sample.attributes).items():
                    return sample.value
        return math.nan

    def all_said(self) -> bool:
        """Tell whether every device has been asked everything."""
        answered = self.supervisor.samples("gpu_info", since=0.0)
        return len(answered) == self.scenario.gpus

    def answering(self) -> list[bool]:
        known = self.supervisor.answering(time.time())
        return [known.get(self.uuid(gpu), False) for gpu in range(self.scenario.gpus)]


@pytest.fixture
def watched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: Callable[[str], str]
) -> Iterator[Callable[..., Watched]]:
    """Start supervisors over a scenario; they end with the test."""
    program("gcc")
    over = threading.Event()
    running: list[tuple[Watched, threading.Thread]] = []

    def start(
        *, profile: str = "H100", gpus: int = 8, folder: Path | None = None, **more: object
    ) -> Watched:
        scenario = NvmlScenario(tmp_path / "driver", profile=profile, gpus=gpus, **more)  # type: ignore[arg-type]
        return over_scenario(scenario, folder=folder)

    def over_scenario(scenario: NvmlScenario, *, folder: Path | None = None) -> Watched:
        for name, value in scenario.environment().items():
            monkeypatch.setenv(name, value)
        events: list[Event] = []
        health, devices = AgentHealth(), DeviceRegister(folder)
        supervisor = WorkerSupervisor(
            subjects=list(SUBJECTS),
            period=1.0,
            devices=devices,
            health=health,
            emit=events.append,
        )
        one = Watched(scenario, supervisor, health, devices, events)

        def check() -> None:
            while not over.wait(0.1):
                supervisor.check()

        thread = threading.Thread(target=check)
        thread.start()
        running.append((one, thread))
        return one

    start.over = over_scenario  # type: ignore[attr-defined]
    yield start
    over.set()
    for one, thread in running:
        thread.join()
        one.supervisor.close()
