"""The hostile sender, a process of its own: `python -m bench.hostile.attacker NAME TARGETS FILE`.

TARGETS is a file of AttackTargets as JSON. What was answered is counted in FILE, as JSON.
"""

import http.client
import itertools
import json
import os
import resource
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from . import sockets
from .attacks import SOCKETS, HostileAttack, attacks
from .local import LOCAL, AttackedNode, DatagramPath
from .payloads import LOGS, METRICS, PAYLOADS, HostileRequest, payload

ANSWER_SECONDS = 60.0
NOBODY = 65534
"""The user id of the other user."""
_ADDRESS_SPACE = 8 << 30
"""Bytes: a row that is larger than meant ends the attacker, not the machine."""
_GRPC = "/opentelemetry.proto.collector.{0}.v1.{1}Service/Export"
_METHODS = {LOGS: _GRPC.format("logs", "Logs"), METRICS: _GRPC.format("metrics", "Metrics")}


@dataclass(frozen=True, slots=True)
class AttackTargets:
    """Where collector and agent are (HOST:PORT, paths), the tokens by sender, and how long."""

    http: str
    grpc: str
    page: str
    udp: str
    socket: str
    folder: str
    logs: str
    local_job: str
    tokens: Mapping[str, str]
    seconds: float

    def write(self, file: Path) -> None:
        """Write them as JSON."""
        file.write_text(json.dumps(asdict(self)), encoding="utf-8")

    @classmethod
    def read(cls, file: Path) -> Self:
        """Read what `write` wrote."""
        return cls(**json.loads(file.read_text("utf-8")))

    def node(self) -> AttackedNode:
        """Return where the agent is."""
        return AttackedNode(
            Path(self.socket), self.udp, self.local_job, Path(self.folder), Path(self.logs)
        )

    def headers(self, sender: str) -> dict[str, str]:
        """Return the header with the token of a sender; of nobody: none."""
        token = self.tokens.get(sender)
        return {"authorization": f"Bearer {token}"} if token else {}


def main(name: str, targets_file: str, file: str) -> None:
    """Send until the time is over."""
    attack = next(one for one in attacks() if one.name == name)
    targets = AttackTargets.read(Path(targets_file))
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE, _ADDRESS_SPACE))
    out = Path(file).open("w", encoding="utf-8")  # noqa: SIM115  before the user changes
    if attack.sender == "other user":
        os.setuid(NOBODY)
    until = time.time() + targets.seconds
    counted: Counter[str] = Counter()
    if attack.sends == SOCKETS:
        counted += Counter(_held(attack, targets, until))
    else:
        threads = [
            threading.Thread(target=_sending, args=(attack, targets, until, place, counted))
            for place in range(attack.at_once)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    json.dump(counted, out)
    out.close()


def _held(attack: HostileAttack, targets: AttackTargets, until: float) -> dict[str, int]:
    address = {"gRPC": targets.grpc, "agent page": targets.page}.get(attack.door, targets.http)
    return sockets.hold(
        address,
        targets.headers(attack.sender),
        style=str(attack.arguments["style"]),
        count=attack.at_once,
        until=until,
        pause_seconds=attack.every_seconds,
    )


def _sending(
    attack: HostileAttack,
    targets: AttackTargets,
    until: float,
    place: int,
    counted: Counter[str],
) -> None:
    send = _sender(attack, targets)
    for turn in itertools.count():
        number = turn * attack.at_once + place
        if time.time() >= until or 0 < attack.payloads <= turn:
            break
        due = time.time() + attack.every_seconds
        counted[send(number)] += 1
        time.sleep(max(0.0, min(due, until) - time.time()))


def _sender(attack: HostileAttack, targets: AttackTargets) -> Callable[[int], str]:
    """Return what sends the payload of a number, and says what was answered."""
    arguments: dict[str, Any] = dict(attack.arguments)
    if attack.sends in PAYLOADS:
        send = _over_grpc if attack.door == "gRPC" else _over_http
        answer = send(targets, targets.headers(attack.sender))
        return lambda number: answer(payload(attack.sends, number, arguments))
    to: Any = targets.node()
    if attack.door in ("agent socket", "agent UDP"):
        to = DatagramPath(to, udp=attack.door == "agent UDP")
    made = LOCAL[attack.sends]
    return lambda number: "taken" if made(to, number, **arguments) else "not taken"


def _over_http(targets: AttackTargets, right: Mapping[str, str]) -> Callable[[HostileRequest], str]:
    connection = http.client.HTTPConnection(targets.http, timeout=ANSWER_SECONDS)

    def send(asked: HostileRequest) -> str:
        try:
            method = "GET" if asked.body is None else "POST"
            connection.request(method, asked.path, asked.body, {**right, **asked.headers})
            answer = connection.getresponse()
            answer.read()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            return type(error).__name__
        return str(answer.status)

    return send


def _over_grpc(targets: AttackTargets, right: Mapping[str, str]) -> Callable[[HostileRequest], str]:
    import grpc  # noqa: PLC0415  an extra

    channel = grpc.insecure_channel(targets.grpc)

    def send(asked: HostileRequest) -> str:
        call = channel.unary_unary(_METHODS[asked.path])
        try:
            call(asked.body, timeout=ANSWER_SECONDS, metadata=tuple(right.items()))
        except grpc.RpcError as error:
            return str(error.code().name)
        return "OK"

    return send


if __name__ == "__main__":
    main(*sys.argv[1:])
