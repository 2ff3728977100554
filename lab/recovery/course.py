"""The course of `rankscope lab recovery`: a fault, a cause, an eviction, a restart, and its times.

Three hosts of this machine, the third a spare. A torchrun job of four ranks trains on the first
two; a rank on the second is stopped. The collector sends the cause to the controller here, which
ends the job, leaves the cause's host out, takes the spare and starts again from the checkpoint.
With `actions` the collector itself decides: agents end the ranks by its order, torchrun starts them
anew in place, and the collector says whether it helped. Then the rank may also be killed, which
torchrun notices itself, or the second host be lost: all its processes stop at once, and nobody is
told that a connection is gone.
"""

import base64
import contextlib
import json
import math
import os
import queue
import secrets
import shutil
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, TextIO, get_args

import psutil

from ...vocabulary import times
from ..demo import hosts as places
from ..demo.client import DemoClient
from ..demo.hosts import DemoHost
from ..demo.processes import DemoProcess, DemoProcesses, leave_on_signals
from ..demo.stage import JOB, DemoStage, clean_environment, free_port, new_folder
from ..jobs import resumable_trainer
from .controller import ReceivedCause, receiving

RecoveryFault = Literal["stopped", "crashed", "lost"]
RECOVERY_FAULTS: tuple[RecoveryFault, ...] = get_args(RecoveryFault)
TORCHRUN = "torchrun"
"""Who restarted the job where nobody had to order it."""
FAULTS = ("software.stuck_process", "host.*", "gpu.*", "network.*")
WARM_UP_STEPS = 250
_STORES_APART = "TORCH_DISABLE_SHARE_RDZV_TCP_STORE"
"""Without it ranks over gloo read where their predecessors listened."""
_START_SECONDS, _CAUSE_SECONDS = 120.0, 120.0
_OUTCOME_SECONDS = 180.0


class RecoveryError(Exception):
    """The run could not be brought to its end; the text says which part failed."""


@dataclass(frozen=True, slots=True)
class RecoveryFigures:
    """What was measured. Times in seconds after the fault; `lost_steps` are trained again."""

    fault: str
    evicted: str
    injected_on: str
    detected_seconds: float
    received_seconds: float
    stopped_seconds: float
    resumed_seconds: float
    caught_up_seconds: float
    lost_steps: int
    hosts: tuple[str, ...]
    action: str = ""
    outcome: str = ""

    @property
    def right(self) -> bool:
        """Return whether the host that had the fault is the one that was evicted.

        Where the collector orders what is to be done, whether it says that this helped.
        """
        if self.action:
            return self.outcome == "recovered"
        return self.evicted == self.injected_on


class RecoveryCourse:
    """One run. What it reports goes to `out`, a line at a time."""

    def __init__(
        self,
        folder: Path,
        processes: DemoProcesses,
        *,
        out: TextIO,
        actions: bool = False,
        stay: bool = False,
        fault: RecoveryFault = "stopped",
    ) -> None:
        """`actions`: the collector orders, and the agents of the hosts carry it out.

        `stay`: the job trains on, and the console stays up, until somebody presses Ctrl-C.
        """
        self._actions = actions
        self._fault: RecoveryFault = fault
        self._stay = stay
        divided, _ = places.divide(places.usable_cpus())
        self._hosts = divided
        # The spare has the CPUs of the host that it will stand in for: this machine has no others.
        self._spare = replace(divided[1], name="demo-c")
        self._processes, self._out, self._folder = processes, out, folder
        self._stage = DemoStage(folder, processes, (*divided, self._spare))
        self._state = folder / "state.pt"
        self._job: list[DemoProcess] = []
        self._begun = time.monotonic()

    def run(self) -> RecoveryFigures:
        """Run it; leave no process of the job behind. Raises RecoveryError."""
        try:
            figures = self._run()
            if self._stay:
                self._say(f"console: {self._stage.address}/#/actions (Ctrl-C ends everything)")
                with contextlib.suppress(KeyboardInterrupt):
                    self._job_goes_on()
            return figures
        finally:
            self._end_job()

    def _run(self) -> RecoveryFigures:
        secret = "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()
        with receiving(secret) as inbox:
            hook = {"url": inbox.url, "secret": secret, "name": "recovery", "faults": FAULTS}
            # Any confidence: two ranks of one host may compete, and either names the host to evict.
            hook |= {"severities": ["critical", "warning"]}
            settings = {"RANKSCOPE_WEBHOOKS": json.dumps([hook])}
            if self._actions:
                executor = {"kind": "torchrun"}
                settings = {
                    "RANKSCOPE_ACTIONS__MODE": "act",
                    "RANKSCOPE_ACTIONS__VETO_SECONDS": "0",
                    "RANKSCOPE_ACTIONS__OUTCOME_SECONDS": f"{_OUTCOME_SECONDS:g}",
                    "RANKSCOPE_ACTIONS__EXECUTORS": json.dumps([executor]),
                }
            self._stage.collector(settings)
            client = DemoClient(self._stage.address)
            self._wait(_START_SECONDS, "the collector", client.ready)
            self._say(f"collector ready: {self._stage.address}")
            for host in (*self._hosts, self._spare):
                self._stage.agent(host, {"RANKSCOPE_RESTARTING__ALLOWED": str(self._actions)})
            self._train(self._hosts, attempt=0)
            self._wait(_START_SECONDS, "the first steps", lambda: self._step() >= WARM_UP_STEPS)
            injected_at = self._inject(self._hosts[1])
            at_fault = self._step()
            if self._fault == "crashed":
                return self._alone(client, injected_at, at_fault)
            if self._actions:
                return self._acted(client, injected_at, at_fault)
            cause = self._cause(inbox.causes)
            received = cause.received_at - injected_at
            self._say(f"{cause.fault} on {cause.host} ({cause.confidence}) after {received:.1f} s")
            self._end_job()
            stopped = time.time() - injected_at
            self._say(f"job stopped; {cause.host} evicted, {self._spare.name} takes its place")
            left = [host for host in self._hosts if host.name != cause.host]
            hosts = (*left, self._spare)[: len(self._hosts)]
            self._train(hosts, attempt=1)
            first = self._wait(_START_SECONDS, "the first step after the restart", self._resumed)
            resumed = time.time() - injected_at
            lost = at_fault - first + 1
            self._say(f"training from step {first} after {resumed:.1f} s")
            self._wait(_START_SECONDS, "the steps lost", lambda: self._step() > at_fault)
            caught_up = time.time() - injected_at
            return RecoveryFigures(
                fault=cause.fault,
                evicted=str(cause.host),
                injected_on=self._hosts[1].name,
                detected_seconds=round(cause.detected_at - injected_at, 1),
                received_seconds=round(received, 1),
                stopped_seconds=round(stopped, 1),
                resumed_seconds=round(resumed, 1),
                caught_up_seconds=round(caught_up, 1),
                lost_steps=lost,
                hosts=tuple(host.name for host in hosts),
            )

    def _acted(self, client: DemoClient, injected_at: float, at_fault: int) -> RecoveryFigures:
        """Wait for what the collector orders, for what comes of it, and for what it says of it."""
        order = self._ordered(client)
        received = order["started_at"] - injected_at
        what = f"{order['action']} for {order['cause']} on {order['host']}"
        self._say(f"{what} ordered after {received:.1f} s")
        first = self._wait(_START_SECONDS, "the first step after the restart", self._anew)
        resumed = time.time() - injected_at
        self._say(f"training from step {first} after {resumed:.1f} s")
        self._wait(_START_SECONDS, "the steps lost", lambda: self._step() > at_fault)
        caught_up = time.time() - injected_at
        outcome = self._outcome(client, order["id"], injected_at)
        return RecoveryFigures(
            fault=order["cause"],
            evicted=str(order["host"]),
            injected_on=self._hosts[1].name,
            detected_seconds=round(self._detected(client, order["incident"]) - injected_at, 1),
            received_seconds=round(received, 1),
            stopped_seconds=round(self._ended_at(client, order["id"]) - injected_at, 1),
            resumed_seconds=round(resumed, 1),
            caught_up_seconds=round(caught_up, 1),
            lost_steps=at_fault - first + 1,
            hosts=tuple(host.name for host in self._hosts),
            action=order["action"],
            outcome=outcome,
        )

    def _alone(self, client: DemoClient, injected_at: float, at_fault: int) -> RecoveryFigures:
        """Wait until torchrun has started the ranks anew by itself, and for the incident."""
        first = self._wait(_START_SECONDS, "the first step after the restart", self._anew)
        resumed = time.time() - injected_at
        self._say(f"training from step {first} after {resumed:.1f} s")
        self._wait(_START_SECONDS, "the steps lost", lambda: self._step() > at_fault)
        caught_up = time.time() - injected_at
        found: list[dict[str, Any]] = []

        def opened() -> bool:
            found[:] = (client.ask("/api/v1/incidents") or {}).get("items", [])
            return bool(found)

        self._wait(_CAUSE_SECONDS, "an incident", opened)
        detected = times.parse(found[-1]["detected_at"]) - injected_at
        return RecoveryFigures(
            fault=found[-1]["root_cause"]["hypotheses"][0]["fault"],
            evicted="",
            injected_on=self._hosts[1].name,
            detected_seconds=round(detected, 1),
            received_seconds=0.0,
            stopped_seconds=0.0,
            resumed_seconds=round(resumed, 1),
            caught_up_seconds=round(caught_up, 1),
            lost_steps=at_fault - first + 1,
            hosts=tuple(host.name for host in self._hosts),
            action=TORCHRUN,
            outcome="recovered",
        )

    def _ordered(self, client: DemoClient) -> dict[str, Any]:
        """Return the record of the first action that was started; its time in epoch seconds."""
        found: list[dict[str, Any]] = []

        def started() -> bool:
            answer = client.ask("/api/v1/actions")
            found[:] = [row for row in (answer or {}).get("items", ()) if row["started_at"]]
            return bool(found)

        self._wait(_CAUSE_SECONDS, "an action", started)
        return {**found[-1], "started_at": times.parse(found[-1]["started_at"])}

    def _ended_at(self, client: DemoClient, order: str) -> float:
        return float(times.parse(client.ask(f"/api/v1/actions/{order}")["ended_at"]))

    def _detected(self, client: DemoClient, incident: str) -> float:
        return float(times.parse(client.ask(f"/api/v1/incidents/{incident}")["detected_at"]))

    def _anew(self) -> int:
        """Return the first step after a checkpoint, once one is trained anew; 0 before."""
        found = resumable_trainer.progress(self._state)
        return 0 if found is None or not found["first"] else int(found["first"])

    def _job_goes_on(self) -> None:
        """Wait for ever; raises RecoveryError when a part ends."""
        self._wait(math.inf, "Ctrl-C", lambda: False)

    def _train(self, hosts: Sequence[DemoHost], *, attempt: int) -> None:
        """Start one torchrun a host, as a scheduler would."""
        port = free_port()
        self._job = []
        for number, host in enumerate(hosts):
            environ = {
                **clean_environment(),
                "RANKSCOPE_JOB_ID": JOB,
                "RANKSCOPE_JOB_ATTEMPT": str(attempt),
                "RANKSCOPE_AGENT": f"unix://{self._folder / host.name}.sock",
                resumable_trainer.STATE: str(self._state),
                "OMP_NUM_THREADS": "1",
            }
            nodes = f"1:{len(hosts)}" if self._fault == "lost" else f"{len(hosts)}"
            command = [sys.executable, "-m", "torch.distributed.run", f"--nnodes={nodes}"]
            command += [f"--nproc-per-node={len(host.ranks)}"]
            if self._actions:
                environ[_STORES_APART] = "1"
                del environ["RANKSCOPE_JOB_ATTEMPT"]  # torchrun counts
                command += ["--max-restarts=3", "--rdzv-backend=c10d", f"--rdzv-id={JOB}"]
                command += [f"--rdzv-endpoint=127.0.0.1:{port}", "--local-addr=127.0.0.1"]
                command += [f"--rdzv-conf=is_host={int(number == 0)},last_call_timeout=3"]
            else:
                command += [f"--node-rank={number}", "--master-addr=127.0.0.1"]
                command += [f"--master-port={port}"]
            command += ["-m", "rankscope.lab.jobs.resumable_trainer"]
            name = f"torchrun-{host.name}-{attempt}"
            self._job.append(self._processes.start(name, command, environ=environ, host=host))
        self._say(f"torchrun on {', '.join(host.name for host in hosts)}, attempt {attempt}")

    def _end_job(self) -> None:
        """End torchrun and its ranks. Those have sessions of their own, and one is stopped."""
        ranks: list[psutil.Process] = []
        for launcher in self._job:
            with contextlib.suppress(psutil.NoSuchProcess):
                ranks += psutil.Process(launcher.handle.pid).children(recursive=True)
        self._processes.stop(*self._job)
        self._job = []
        for rank in ranks:
            with contextlib.suppress(psutil.NoSuchProcess):
                rank.kill()

    def _inject(self, host: DemoHost) -> float:
        """Stop or kill a rank of a host, or lose the host; return when."""
        launcher = self._job[self._hosts.index(host)].handle.pid
        if self._fault == "lost":
            return self._lose(host, launcher)
        ranks = [
            child
            for child in psutil.Process(launcher).children()
            if any("resumable_trainer" in word for word in child.cmdline())
        ]
        if not ranks:
            raise RecoveryError(f"torchrun on {host.name} has no rank running")
        number = signal.SIGKILL if self._fault == "crashed" else signal.SIGSTOP
        self._say(f"a rank on {host.name} gets {number.name} at step {self._step()}")
        os.kill(ranks[-1].pid, number)
        return time.time()

    def _lose(self, host: DemoHost, launcher: int) -> float:
        """Stop all processes of a host, its agent's too; return when."""
        self._say(f"{host.name} is lost at step {self._step()}")
        agent = next(one for one in self._stage.parts if one.name == f"agent-{host.name}")
        at = time.time()
        for pid in (agent.handle.pid, launcher):
            process = psutil.Process(pid)
            for one in (process, *process.children(recursive=True)):
                with contextlib.suppress(psutil.NoSuchProcess):
                    one.suspend()
        return at

    def _cause(self, causes: "queue.Queue[ReceivedCause]") -> ReceivedCause:
        """Return the first cause that names a host of the job."""
        deadline = time.monotonic() + _CAUSE_SECONDS
        while True:
            try:
                cause = causes.get(timeout=max(deadline - time.monotonic(), 0.0))
            except queue.Empty:
                raise RecoveryError(f"no cause came in {_CAUSE_SECONDS:.0f} s") from None
            if cause.host in [host.name for host in self._hosts]:
                return cause
            self._say(f"{cause.fault} names no host of the job: nothing to evict")

    def _outcome(self, client: DemoClient, order: str, injected_at: float) -> str:
        """Wait for what the collector says of its action; return that, and print its steps."""

        def known() -> bool:
            found = client.ask(f"/api/v1/actions/{order}")
            return found is not None and found["outcome"] is not None

        self._wait(_OUTCOME_SECONDS + 60.0, "what came of the action", known)
        record = client.ask(f"/api/v1/actions/{order}")
        for step in record["steps"]:
            after = times.parse(step["at"]) - injected_at
            text = f": {step['text']}" if step["text"] else ""
            self._say(f"action {step['state']} after {after:.1f} s{text}")
        return str(record["outcome"])

    def _step(self) -> int:
        found = resumable_trainer.progress(self._state)
        return -1 if found is None else int(found["step"])

    def _resumed(self) -> int:
        """Return the first step of the attempt that goes on from a checkpoint, 0 before it."""
        found = resumable_trainer.progress(self._state)
        return 0 if found is None else int(found["first"])

    def _wait(self, seconds: float, what: str, question: Callable[[], int | bool]) -> int:
        deadline = time.monotonic() + seconds
        while not (answer := question()):
            for process in (*self._stage.parts, *self._job):
                if process.ended is not None:
                    raise RecoveryError(f"{process.name} ended with exit code {process.ended}")
            if time.monotonic() > deadline:
                raise RecoveryError(f"waited {seconds:.0f} s in vain for {what}")
            time.sleep(0.1)
        return int(answer)

    def _say(self, text: str) -> None:
        took = time.monotonic() - self._begun
        print(f"[{took:6.1f} s] {text}", file=self._out, flush=True)


def run(
    *,
    as_json: bool,
    out: TextIO,
    actions: bool = False,
    stay: bool = False,
    fault: RecoveryFault = "stopped",
) -> int:
    """Run it and print what was measured; return 0 only if what was done was right.

    With `stay` the console stays up, and the job trains on, until Ctrl-C.
    """
    leave_on_signals()
    folder = new_folder()
    logs = folder / "logs"
    logs.mkdir()
    found: RecoveryFigures | None = None
    try:
        with DemoProcesses(logs) as processes:
            found = RecoveryCourse(
                folder, processes, out=out, actions=actions, stay=stay, fault=fault
            ).run()
    except RecoveryError as error:
        print(f"the run failed: {error}", file=out)
    if found is None or not found.right:
        print(f"logs are in {logs}", file=out)
    else:
        shutil.rmtree(folder, ignore_errors=True)
    if found is not None:
        if as_json:
            print(json.dumps(asdict(found)))
        elif found.action == TORCHRUN:
            print(
                f"incident {found.fault} after {found.detected_seconds} s; torchrun itself had the "
                f"job train again after {found.resumed_seconds} s, the {found.lost_steps} lost "
                f"steps trained again after {found.caught_up_seconds} s"
            )
        elif found.action:
            print(
                f"action {found.action} ordered after {found.received_seconds} s, training again "
                f"after {found.resumed_seconds} s, the {found.lost_steps} lost steps trained again "
                f"after {found.caught_up_seconds} s: {found.outcome}"
            )
        else:
            print(
                f"incident after {found.detected_seconds} s, stable cause received after "
                f"{found.received_seconds} s, training again after "
                f"{found.resumed_seconds} s, the {found.lost_steps} lost steps trained again after "
                f"{found.caught_up_seconds} s: evicted {found.evicted}, the fault was on "
                f"{found.injected_on}"
            )
    return 0 if found is not None and found.right else 1
