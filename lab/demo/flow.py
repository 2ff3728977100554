"""The course of the demo: start, warm up, inject, wait for the incident, report, evaluate."""

import contextlib
import math
import os
import time
from collections.abc import Callable, Generator
from typing import Any, TextIO

from ...vocabulary.times import parse
from ..mechanisms import FaultMechanism
from . import hosts as places
from .client import DemoClient
from .processes import DemoProcess
from .stage import DemoStage, trainer_module
from .unsupported import InjectionUnsupportedError
from .verdict import AnswerVerdict, InjectedTruth, evaluate, observed, unrelated

START_SECONDS = 120.0
FIRST_STEP_SECONDS = 90.0
"""Importing torch four times on a small machine takes its time."""
WARM_UP_SECONDS = 22.0
PROGRESS_SECONDS = 30.0
STABLE_SECONDS = 30.0
SETTLING_SECONDS = 5.0
"""Causes that are stable at once, from what was before, get this long to take the fault in."""


class DemoError(Exception):
    """The demo could not be brought to its end; the text says which part failed."""


class DemoRun:
    """One run. Everything it reports goes to `out`, a line at a time."""

    def __init__(self, *, mechanism: FaultMechanism, trainer: str, out: TextIO) -> None:
        """Prepare a run with this fault and trainer ("torch", "numpy" or "auto").

        Raises InjectionUnsupportedError where that trainer cannot have the fault.
        """
        self._mechanism, self._out = mechanism, out
        if trainer == "auto" and len(mechanism.trainers) == 1:
            (trainer,) = mechanism.trainers
        self._trainer = trainer_module(trainer)
        if self._trainer not in mechanism.trainers:
            raise InjectionUnsupportedError(
                f"{mechanism.name} needs a job in {' or '.join(mechanism.trainers)}, "
                f"not in {self._trainer}"
            )
        self._begun = time.monotonic()
        self._seconds = float("nan")
        self.hosts, self._division = places.divide(places.usable_cpus())
        # The second host, and there the second rank: whoever always blames rank 0 is wrong. Unless
        # it is a fault that only rank 0 has.
        self._host = self.hosts[0 if mechanism.first else 1]
        self._rank = self._host.ranks[0 if mechanism.first else -1]

    @property
    def culprit(self) -> int:
        """Return the rank that the fault is injected into."""
        return self._rank

    @property
    def seconds(self) -> float | None:
        """Return how long it took from the injection to the incident, None where it did not."""
        return None if math.isnan(self._seconds) else round(self._seconds, 1)

    def say(self, text: str) -> None:
        """Print one line of progress."""
        print(f"[{time.monotonic() - self._begun:6.1f} s] {text}", file=self._out, flush=True)

    def play(
        self, stage: DemoStage, client: DemoClient
    ) -> tuple[dict[str, Any] | None, AnswerVerdict]:
        """Run the demo up to the verdict; raises DemoError when a part fails.

        The document is None where nothing was wrong and nothing was found.
        """
        self._start(stage, client)
        self._warm_up(stage, client)
        if not self._mechanism.fault:
            return self._healthy(stage, client)
        truth = self._truth(stage)
        injected = self._inject(stage)
        if self._mechanism.harmless:
            return None, self._observed(stage, client, injected, truth)
        document = self._incident(stage, client, injected)
        for text in unrelated(client.incidents(stage.job_id), document["id"]):
            self.say(f"  another incident: {text}")
        return document, evaluate(document, truth)

    def conclude(self, verdict: AnswerVerdict) -> None:
        """Say what this machine cannot show, how long it took, and whether it was right."""
        self.say("this machine has no evidence from GPUs, fabric or switches: the job runs on CPUs")
        if self._mechanism.fault:
            what = "observation" if self._mechanism.harmless else "incident"
            self.say(f"from injection to {what}: {self._seconds:.1f} s")
        self.say(verdict.text)

    def stay(self, stage: DemoStage) -> None:
        """Keep the console up until somebody presses Ctrl-C."""
        stage.relieve()
        self.say(f"console: {stage.address}/ (Ctrl-C ends everything)")
        with contextlib.suppress(KeyboardInterrupt), self.interruptible():
            while True:
                time.sleep(1)

    @contextlib.contextmanager
    def interruptible(self) -> Generator[None]:
        """Say that Ctrl-C was heard: a job of stopped ranks takes seconds to end."""
        try:
            yield
        except KeyboardInterrupt:
            self.say("ending every process; Ctrl-C again ends them at once")
            raise

    def _start(self, stage: DemoStage, client: DemoClient) -> None:
        """Start everything and wait until the job trains and the collector sees it."""
        stage.prepare()
        if busy := _busy():
            self.say(busy)
        if stage.elsewhere is None:
            self.say("starting the collector")
            stage.collector()
        self._wait(stage, START_SECONDS, "the collector", client.ready)
        self.say(f"collector ready: {stage.address}")
        for host in self.hosts:
            stage.agent(host)
        self.say(f"two agents: {self._division}")
        stage.train(self._trainer)
        kind = "torch DDP over gloo" if self._trainer == "torch" else "numpy, all-reduce by sockets"
        self.say(f"a data-parallel job of {self._world} ranks, two a host ({kind})")
        self._wait(
            stage, FIRST_STEP_SECONDS, "the first steps of every rank", self._trains(stage, client)
        )

    @property
    def _world(self) -> int:
        return sum(len(host.ranks) for host in self.hosts)

    def _trains(self, stage: DemoStage, client: DemoClient) -> Callable[[], bool]:
        def trains() -> bool:
            steps = [row["last_step"] for row in client.ranks(stage.job_id)]
            return len(steps) == self._world and all(step is not None for step in steps)

        return trains

    def _warm_up(self, stage: DemoStage, client: DemoClient) -> None:
        """Let the job run healthily, and say what the collector sees of it."""
        self.say(f"healthy for {WARM_UP_SECONDS:.0f} s, so that there is a normal to compare with")
        until = time.monotonic() + WARM_UP_SECONDS
        while time.monotonic() < until:
            time.sleep(min(5.0, max(0.1, until - time.monotonic())))
            self._check(stage)
            self._look(stage, client)

    def _look(self, stage: DemoStage, client: DemoClient) -> None:
        ranks = client.ranks(stage.job_id)
        step = max((row["last_step"] or 0 for row in ranks), default=0)
        took = client.step_seconds(stage.job_id)
        pace = f"{took * 1000:.0f} ms a step, " if took else ""
        hosts = len({row["host"] for row in ranks})
        count = len(client.incidents(stage.job_id))
        incidents = "no incident" if not count else f"{count} incident(s)"
        self.say(f"  step {step}: {pace}{len(ranks)} ranks on {hosts} hosts seen, {incidents}")

    def _truth(self, stage: DemoStage) -> InjectedTruth:
        """Return what is about to be injected, as a right first cause would name it."""
        mechanism, host = self._mechanism, self._host.name
        answers = mechanism.answers or (mechanism.fault,)
        if mechanism.at == "job":
            return InjectedTruth(answers, "job", (stage.job_id,))
        if mechanism.at == "host":
            return InjectedTruth(answers, "host", (host,), host)
        if mechanism.at == "rank":
            return InjectedTruth(answers, "rank", (str(self._rank),), host)
        pids = stage.pids(self._rank, worker=mechanism.at == "worker")
        return InjectedTruth(answers, "process", tuple(f"{host}:{pid}" for pid in pids), host)

    def _inject(self, stage: DemoStage) -> float:
        """Inject the fault; return when."""
        before = time.time()
        self.say(f"injecting {self._mechanism.name}: {stage.inject(self._host, self._rank)}")
        return before

    def _healthy(
        self, stage: DemoStage, client: DemoClient
    ) -> tuple[dict[str, Any] | None, AnswerVerdict]:
        """Return the first incident above info while nothing is wrong, None if there is none."""
        injected = self._inject(stage)
        begun = shown = time.monotonic()
        while time.monotonic() - begun < self._mechanism.quiet:
            time.sleep(1)
            self._check(stage)
            if rows := self._since(stage, client, injected):
                text = f"WRONG: nothing was wrong, and there is an incident: {rows[0]['summary']}"
                return rows[0], AnswerVerdict(False, text)
            if time.monotonic() - shown > PROGRESS_SECONDS:
                shown = time.monotonic()
                self._look(stage, client)
        return None, AnswerVerdict(
            True, "RIGHT: nothing was wrong, and no incident above info was raised"
        )

    def _since(self, stage: DemoStage, client: DemoClient, injected: float) -> list[dict[str, Any]]:
        """Return the incidents that count, opened or changed since the injection."""
        # One that was open before, for some other trouble of this machine, may take it in.
        kinds = self._mechanism.symptoms
        return [
            row
            for row in client.incidents(stage.job_id)
            if parse(row["updated_at"]) >= injected
            and row["severity"] != "info"
            and (not kinds or any(symptom["kind"] in kinds for symptom in row["symptoms"]))
        ]

    def _observed(
        self, stage: DemoStage, client: DemoClient, injected: float, truth: InjectedTruth
    ) -> AnswerVerdict:
        """Return whether what was injected is an observation at its entity, and no incident."""
        found: list[dict[str, Any]] = []

        def seen() -> bool:
            rows = client.observations(stage.job_id)
            found[:] = [row for row in rows if row["kind"] in self._mechanism.symptoms]
            return bool(found)

        self._wait(stage, self._mechanism.patience, "an observation", seen, job_may_end=True)
        self._seconds = time.time() - injected
        self.say(f"observation after {self._seconds:.1f} s: {found[0]['text']}")
        return observed(found[0], self._since(stage, client, injected), truth)

    def _incident(self, stage: DemoStage, client: DemoClient, injected: float) -> dict[str, Any]:
        """Return the first incident since the injection, its causes stable if they come to be."""
        found: list[dict[str, Any]] = []
        shown = time.monotonic()

        def seen() -> bool:
            nonlocal shown
            found[:] = self._since(stage, client, injected)
            if not found and time.monotonic() - shown > PROGRESS_SECONDS:
                shown = time.monotonic()
                self._look(stage, client)
            return bool(found)

        self._wait(stage, self._mechanism.patience, "an incident", seen, job_may_end=True)
        first = min(found, key=lambda row: parse(row["detected_at"]))
        self._seconds = time.time() - injected
        earlier = parse(first["detected_at"]) - injected
        if earlier < 0:
            self.say("  (it joins an incident that was open before the injection)")
        elif earlier < self._seconds - 2:
            self.say(f"  (first seen after {earlier:.1f} s, as info)")
        self.say(f"incident after {self._seconds:.1f} s: {first['summary']}")
        begun = time.monotonic()
        while time.monotonic() - begun < STABLE_SECONDS:
            time.sleep(1)
            first = client.incident(first["id"]) or first
            settled = first["root_cause"]["status"] != "provisional"
            if settled and time.monotonic() - begun > SETTLING_SECONDS:
                break
        status = first["root_cause"]["status"]
        self.say(f"causes {status}, {time.time() - injected:.1f} s after the injection")
        return first

    def _wait(
        self,
        stage: DemoStage,
        seconds: float,
        what: str,
        question: Callable[[], bool],
        *,
        job_may_end: bool = False,
    ) -> None:
        deadline = time.monotonic() + seconds
        while not question():
            self._check(stage, job_may_end=job_may_end)
            if time.monotonic() > deadline:
                raise DemoError(f"waited {seconds:.0f} s in vain for {what}")
            time.sleep(0.25)

    def _check(self, stage: DemoStage, *, job_may_end: bool = False) -> None:
        """Raise DemoError when a part that must run has ended."""
        watched: list[DemoProcess] = [*stage.parts, *([] if job_may_end else stage.job)]
        for process in watched:
            if process.ended is not None:
                raise DemoError(f"{process.name} ended with exit code {process.ended}")


def _busy() -> str:
    """Say so where this machine has much else to do: then both hosts of the demo lack CPU."""
    load, cpus = os.getloadavg()[0], len(places.usable_cpus())
    if load <= cpus:
        return ""
    return (
        f"this machine is busy (load {load:.0f} on {cpus} CPUs): every host of the demo is slow by "
        "that, and the injected fault may not stand out"
    )
