"""What comes and goes on a node all year: processes, pods, jobs, pages of exporters, lines of logs.

Fed to an `AgentWithin` cycle by cycle. Everything has a name or number that never was before, since
that is what an agent must forget again.
"""

import http.server
import json
import random
import threading
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rankscope.agent.inbox import ReceivedDatagram
from rankscope.vocabulary import datagram
from rankscope.vocabulary.samples import Sample, attributes

from .kernel_files import KernelFiles
from .kernel_log import KernelLogDouble
from .trees import NodeTrees
from .within import AgentWithin
from .worker_within import ToldClock

_COPIED = ("stat", "vmstat", "meminfo", "pressure/cpu", "pressure/memory", "pressure/io")
_OF_A_PROCESS = ("status", "stat", "smaps_rollup", "cmdline", "schedstat")
_JOB_CYCLES = 20
"""Cycles between two ends of processes: at 5 s a cycle a job of minutes."""
_LINE_CYCLES = 25
_FAULT_CYCLES = 200
_FIRST_PID = 100_000


class PageConnection:
    """An exporter's page over HTTP, kept alive as Prometheus' clients do."""

    def __init__(self) -> None:
        self.text = b""
        page = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.send_header("Content-Length", str(len(page.text)))
                self.end_headers()
                self.wfile.write(page.text)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                """Say nothing."""

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/metrics"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Serve no more."""
        self._server.shutdown()
        self._server.server_close()


def host_files(files: KernelFiles) -> None:
    """Give the made-up /proc what this machine's own says of the host and of a process."""
    for name in _COPIED:
        source = Path("/proc", name)
        if source.exists():
            files.write(files.proc / name, source.read_text().rstrip("\n"))
    for name in ("self/mountinfo", "self/schedstat", "self/status", "self/smaps_rollup"):
        files.write(files.proc / name, Path("/proc", name).read_text().rstrip("\n"))


class PodChurn:
    """Two ranks at a time, each in a pod of its own, on the node's first two GPUs."""

    def __init__(
        self, agent: AgentWithin, trees: NodeTrees, log: KernelLogDouble, page: PageConnection
    ) -> None:
        self.agent = agent
        self.page = page
        self._clock: ToldClock = agent.clock
        self._trees = trees
        self._log = log
        self._random = random.Random(7)
        self._pid = _FIRST_PID
        self._job = 0
        self._ranks: list[tuple[int, int, str]] = []  # pid, number of the job, pod's uid
        self._numbers: dict[int, int] = {}
        self._templates: list[dict[str, Any]] = []
        self._layouts = 1000

    def learn(self) -> None:
        """Take two turns of the worker; what they said is replayed with other numbers after."""
        worker = self.agent.worker
        if worker is None:
            raise RuntimeError("the agent found no NVML: is the stub in LD_LIBRARY_PATH?")
        rows: dict[str, dict[str, list[Any]]] = {}
        for _ in range(2):
            self._clock.at += 60.0
            worker.turn()
            for told in map(json.loads, worker.lines):
                known = rows.setdefault(told["device"], {}) if "readings" in told else {}
                for subject, at, *found in told.get("readings", ()):
                    if len(found) > 1:  # what is as it was is not said again
                        known[subject] = [subject, at, *found]
        self._templates = [
            {"device": device, "readings": [*found.values()]} for device, found in rows.items()
        ]

    def cycle(self, number: int) -> None:
        """Let five seconds pass: what changes, changes, and is then seen by the agent."""
        self._clock.at += 5.0
        if number % _JOB_CYCLES == 0:
            self._change_jobs()
        for rank, (pid, job, _) in enumerate(self._ranks):
            self._speak(rank, pid, job)
        self._answer(number)
        if number % 10 == 0:
            self.page.text = self._exported()
            for device in self._trees.nics:
                self._trees.network.carry(device, 40_000_000, 40_000_000)
        if number % _LINE_CYCLES == 0:
            self._write_log(number)
        self.agent.cycle()
        self.agent.send()
        if number % 10 == 0:
            self.agent.page.render(self._clock.now())

    def _change_jobs(self) -> None:
        if self._ranks:
            pid, _, _ = self._ranks.pop(0)
            self._trees.files.remove(self._trees.files.proc / str(pid))
            del self._numbers[pid]
        while len(self._ranks) < 2:
            self._pid += 1
            self._job += 1
            self._ranks.append((self._pid, self._job, str(uuid.UUID(int=self._job))))
            self._start(self._pid, self._ranks[-1][2])

    def _start(self, pid: int, uid: str) -> None:
        files = self._trees.files
        folder = files.proc / str(pid)
        for name in _OF_A_PROCESS:
            files.write(folder / name, Path("/proc/self", name).read_text().rstrip("\n"))
        slice_name = f"kubepods-besteffort-pod{uid.replace('-', '_')}.slice"
        scope = f"cri-containerd-{pid:064x}.scope"
        files.write(folder / "cgroup", f"0::/kubepods.slice/{slice_name}/{scope}")
        for thread in (pid, pid + 1_000_000):
            files.write(folder / "task" / str(thread) / "schedstat", "1000 2000 3")

    def _speak(self, rank: int, pid: int, job: int) -> None:
        number = self._numbers.get(pid, -1) + 1
        self._numbers[pid] = number
        now = self._clock.now()
        uuid_of = self._templates[rank % len(self._templates)]["device"]
        info = attributes({"rank": rank, "hw.id": uuid_of, "gpu": rank})
        samples = [
            Sample("training.rank.info", 1.0, now, info),
            Sample("training.step", float(number), now, attributes({"rank": rank})),
            Sample("training.step.duration", 0.5, now, attributes({"rank": rank})),
        ]
        said = datagram.ProbeDatagram(f"job-{job}", 0, rank, pid, number, samples=tuple(samples))
        heard = datagram.decode(datagram.encode(said))
        self.agent.routing.receive(ReceivedDatagram(heard, pid, "unix:"), now)

    def _answer(self, number: int) -> None:
        worker = self.agent.worker
        if worker is None:
            return
        worker.lines.clear()
        now = round(self._clock.now(), 3)
        for gpu, template in enumerate(self._templates):
            turn: list[list[Any]] = []
            for subject, _, layout, values, *names in template["readings"]:
                if subject == "gpu_processes":
                    turn.append(self._processes(gpu, now, spelt=number % _JOB_CYCLES == 0))
                    continue
                moved = [
                    value if value in (0, 1) else value + number % 97 * 0.01 for value in values
                ]
                turn.append([subject, now, layout, moved, *(names if number < 2 else ())])
            told: Mapping[str, Any] = {"readings": turn, "device": template["device"]}
            worker.replay(json.dumps(told, separators=(",", ":")).encode())

    def _processes(self, gpu: int, now: float, *, spelt: bool) -> list[Any]:
        pids = [pid for pid, _, _ in self._ranks[gpu : gpu + 1]]
        if spelt:
            self._layouts += 1
        names = [["hw.gpu.process.memory", [["pid", pid]]] for pid in pids]
        return ["gpu_processes", now, self._layouts, [1 << 30 for _ in pids], names]

    def _exported(self) -> bytes:
        lines = ["# TYPE DCGM_FI_DEV_GPU_UTIL gauge"]
        for gpu, (pid, job, uid) in enumerate(self._ranks):
            labels = (
                f'gpu="{gpu}",UUID="GPU-exported-{gpu}",device="nvidia{gpu}",Hostname="n",'
                f'modelName="NVIDIA H100",namespace="ml",pod="job-{job}-{uid[-6:]}",'
                f'container="c{pid}"'
            )
            lines += [
                f"DCGM_FI_DEV_{name}{{{labels}}} {self._random.randint(20, 90)}"
                for name in ("GPU_UTIL", "GPU_TEMP", "POWER_USAGE", "FB_USED", "SM_CLOCK")
            ]
        return ("\n".join(lines) + "\n").encode()

    def _write_log(self, number: int) -> None:
        self._log.write(f"usb 1-1: new high-speed USB device number {number}", level=6)
        if number % _FAULT_CYCLES == 0:
            address = self._trees.gpus[number // _FAULT_CYCLES % len(self._trees.gpus)]
            where = f"Graphics Exception at 0x{number:x}"
            self._log.xid(address, 13, where, pid=self._pid, name=f"python{self._pid}")
