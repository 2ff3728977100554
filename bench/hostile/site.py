"""One attack: a collector and an agent of its own, the honest fleet beside it, and what it left."""

import contextlib
import json
import os
import re
import secrets
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rankscope.lab.demo.processes import DemoProcesses
from rankscope.lab.demo.stage import free_port

from .attacker import AttackTargets
from .attacks import HostileAttack
from .collectors import AttackedCollectors, CollectorCluster, OneCollector
from .honest import JOB
from .watched import WatchedProgram

_HONEST_PAYLOAD = re.compile(rb"honest-\d\d")
_CAUGHT_UP_SECONDS = 3.0
_SETTLE_SECONDS = 1.5
_PATIENCE_SECONDS = 60.0
_ROLES = {"agents": "ingest", "tenant": "ingest", "reader": "read"}
_NODE = "attacked-node"
_TENANTS_JOBS = ["hostile*"]
PHASES = ("before", "during", "after")


@dataclass(frozen=True, slots=True)
class HonestAnswer:
    """One answer to the honest fleet, or of the process on the agent's node."""

    at: float
    took_seconds: float
    status: int
    of: str


class AttackSite:
    """What stands for one attack, until it is closed. `cluster`: three collectors as one."""

    def __init__(
        self, attack: HostileAttack | None, program: Sequence[str], *, cluster: bool = False
    ) -> None:
        self.attack = attack
        self._held = contextlib.ExitStack()
        place = tempfile.TemporaryDirectory(prefix="rs-hostile-", dir="/tmp")  # a socket's is short
        self._folder = Path(self._held.enter_context(place))
        self._folder.chmod(0o711)  # the other user has to reach the socket
        self._processes = self._held.enter_context(DemoProcesses(self._folder))
        self._tokens = {name: secrets.token_hex(16) for name in (*_ROLES, "wrong")}
        self._local_job = f"{JOB}-local-{secrets.token_hex(4)}"  # other sites see its processes too
        self._ports = {name: free_port() for name in ("page", "udp")}
        make = CollectorCluster if cluster else OneCollector
        self.collector: AttackedCollectors = self._held.enter_context(
            contextlib.closing(
                make(self._folder, self._processes, program, self._collector_settings())
            )
        )
        self.agent = self._agent(program)
        self._marks: list[float] = []
        self._answers: list[HonestAnswer] = []
        self._found: dict[str, Any] = {}

    def close(self) -> None:
        """End and delete all of it."""
        self._held.close()

    @property
    def over_at(self) -> float:
        """When the attack was over, s since the epoch."""
        return self._marks[2]

    def start(self) -> None:
        """Start collector and agent, and wait until evaluation keeps up."""
        self.collector.start()
        self.agent.start()
        self.agent.until(lambda: self.agent.page("/healthz") is not None)
        end = time.monotonic() + _PATIENCE_SECONDS
        while self.collector.lag() > _CAUGHT_UP_SECONDS and time.monotonic() < end:
            time.sleep(0.2)

    def run(self, *, seconds: float, quiet_seconds: float) -> None:
        """Let the attack happen, with the honest alone before it and after it."""
        self.collector.watch()
        self.agent.watch()
        targets = self._targets(seconds)
        file = self._folder / "targets.json"
        targets.write(file)
        answers = self._folder / "honest.txt"
        me = [sys.executable, "-m", "bench.hostile.honest", str(file), str(answers)]
        named = {
            "RANKSCOPE_JOB_ID": self._local_job,
            "RANK": "0",
            "WORLD_SIZE": "1",
            "LOCAL_RANK": "0",
        }
        honest = self._processes.start("honest", me, environ={**os.environ, **named})
        time.sleep(_SETTLE_SECONDS)
        self._marks = [time.time()]
        time.sleep(quiet_seconds)
        self._marks.append(time.time())
        counted = self._folder / "sent.json"
        senders = [honest]
        if self.attack is not None:
            it = [sys.executable, "-m", "bench.hostile.attacker", self.attack.name]
            environ = {**os.environ, "MALLOC_ARENA_MAX": "2"}
            command = [*it, str(file), str(counted)]
            senders.append(self._processes.start("hostile", command, environ=environ))
        time.sleep(seconds)
        self._marks.append(time.time())
        self._found["incidents"] = self._false_incidents()
        time.sleep(quiet_seconds)
        self._marks.append(time.time())
        self._found["local_seen"] = self._local_seen()
        self.collector.rest()
        self.agent.rest()
        self._processes.stop(*senders)
        self._answers = _read(answers)
        sent = counted.read_text("utf-8") if counted.exists() else ""
        self._found["sent"] = json.loads(sent) if sent else {}

    def finish(self, *, waited: float) -> dict[str, Any]:
        """Look at what is left, start both again, and return all that was found."""
        left = {
            "waited_seconds": round(waited),
            "mib": self.collector.mib(),
            "lag_seconds": self.collector.lag(),
            "agent_mib": self.agent.mib(),
        }
        stopped = {"seconds": self.collector.stop(), "agent_seconds": self.agent.stop()}
        acknowledged = [one for one in self._answers if one.of == "fleet" and one.status == 200]
        held = sum(
            b"training.step.duration" in body and _HONEST_PAYLOAD.search(body) is not None
            for body in self.collector.bodies()
        )
        kept = self.collector.kept_mib()
        began = time.monotonic()
        self.start()
        restarted = {"seconds": round(time.monotonic() - began, 1)}
        time.sleep(_SETTLE_SECONDS)
        restarted |= {"mib": self.collector.mib(), "agent_mib": self.agent.mib()}
        restarted["lag_seconds"] = self.collector.lag()
        self.collector.stop()
        self.agent.stop()
        attack = self.attack
        return {
            "attack": attack.name if attack else "none",
            "kind": attack.kind if attack else "",
            "door": attack.door if attack else "",
            "sender": attack.sender if attack else "",
            **self._found,
            **{
                phase: {
                    "collector": self.collector.between(start, end),
                    "agent": self.agent.readings.between(start, end),
                    "took_ms": self._took(start, end),
                    "refused": self._refused(start, end),
                }
                for phase, start, end in zip(PHASES, self._marks[:-1], self._marks[1:], strict=True)
            },
            "acknowledged": len(acknowledged),
            "lost": max(0, len(acknowledged) - held),
            "local_sent": self._local_sent(),
            "kept_mib": kept,
            "left": left,
            "stopped": stopped,
            "restarted": restarted,
        }

    def _agent(self, program: Sequence[str]) -> WatchedProgram:
        file = self._folder / "agent.yaml"
        file.write_text(json.dumps(self._agent_settings()), encoding="utf-8")
        command = [*program, "agent", "--config", str(file)]
        made = WatchedProgram("agent", command, self._processes, path="/healthz")
        made.address = f"127.0.0.1:{self._ports['page']}"
        return made

    def _collector_settings(self) -> dict[str, Any]:
        tokens = [
            {
                "token": self._tokens[name],
                "role": role,
                "name": name,
                "jobs": _TENANTS_JOBS if name == "tenant" else [],
            }
            for name, role in _ROLES.items()
        ]
        return {"api": {"tokens": tokens}}

    def _agent_settings(self) -> dict[str, Any]:
        logs = self._folder / "logs"
        logs.mkdir()
        local = self._folder / "node"
        return {
            "export": {"listen": f"127.0.0.1:{self._ports['page']}"},
            "push": {
                "endpoint": f"http://{self.collector.http}",
                "token": self._tokens["agents"],
            },
            "probe": {
                "socket": str(local / "probe.sock"),
                "udp_listen": f"127.0.0.1:{self._ports['udp']}",
            },
            "spool": {"folder": str(local / "spool")},
            "node": {"host": _NODE, "state": str(local / "state")},
            "logs": {"files": [{"path": str(logs / "*.log"), "job": "hostile", "world_size": 8}]},
        }

    def _targets(self, seconds: float) -> AttackTargets:
        ports = {name: f"127.0.0.1:{port}" for name, port in self._ports.items()}
        local = self._folder / "node"
        return AttackTargets(
            http=self.collector.http,
            grpc=self.collector.grpc,
            **ports,
            socket=str(local / "probe.sock"),
            folder=str(local),
            logs=str(self._folder / "logs"),
            local_job=self._local_job,
            tokens=self._tokens,
            seconds=seconds,
        )

    def _api(self, path: str) -> Any:
        right = {"authorization": f"Bearer {self._tokens['reader']}"}
        found = self.collector.page(path, right)
        return json.loads(found) if found else None

    def _false_incidents(self) -> list[str]:
        """Return the incidents above info that name an honest job or one of its hosts."""
        found = self._api("/api/v1/incidents?limit=200")
        if found is None:
            return ["the collector did not answer"]
        return [
            f"{one['severity']}: {one['summary']}"
            for one in found["items"]
            if one["severity"] != "info" and self._blames(one)
        ]

    def _blames(self, incident: dict[str, Any]) -> bool:
        """Tell whether it is about the honest; the agent sees whatever runs here."""
        if not incident["jobs"]:
            return JOB in json.dumps(incident) or _NODE in json.dumps(incident)
        return bool({JOB, self._local_job} & {*incident["jobs"]})

    def _local_seen(self) -> int:
        """Return how many steps of the honest process on the agent's node the collector has."""
        since = f"&from={int(self._marks[0])}"
        found = self._api(
            f"/api/v1/jobs/{self._local_job}/series?metric=training.step&rank=0{since}"
        )
        return sum(len(one["points"]) for one in found["series"]) if found else 0

    def _local_sent(self) -> int:
        start, end = self._marks[0] + 0.5, self._marks[-1] - _SETTLE_SECONDS
        return sum(one.of == "local" and start <= one.at < end for one in self._answers)

    def _took(self, start: float, end: float) -> list[float]:
        return [
            round(1e3 * one.took_seconds, 2)
            for one in self._answers
            if one.of == "fleet" and start <= one.at < end
        ]

    def _refused(self, start: float, end: float) -> int:
        return sum(one.status != 200 for one in self._answers if start <= one.at < end)


def _read(file: Path) -> list[HonestAnswer]:
    rows = [line.split() for line in file.read_text("utf-8").splitlines()]
    return [
        HonestAnswer(float(row[0]), float(row[1]), int(row[2]), row[3])
        for row in rows
        if len(row) == 4
    ]
