"""The table of attacks, read."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from .local import LOCAL
from .payloads import PAYLOADS

_TABLE = Path(__file__).with_name("attacks.toml")
COLLECTOR_DOORS = ("HTTP", "gRPC", "remote write", "API")
AGENT_DOORS = ("agent socket", "agent UDP", "agent page", "agent files", "agent logs")
SENDERS = ("tenant", "agents", "reader", "wrong", "nobody", "process", "other user")
SOCKETS = "sockets"


@dataclass(frozen=True, slots=True)
class HostileAttack:
    """One row, as the head of the table explains it."""

    name: str
    kind: str
    door: str
    sender: str
    means: str
    sends: str
    arguments: Mapping[str, Any]
    every_seconds: float
    payloads: int
    at_once: int


def attacks() -> list[HostileAttack]:
    """Return all rows in their order. Raises ValueError for a row that nothing can be sent of."""
    return [_attack(row) for row in tomllib.loads(_TABLE.read_text("utf-8"))["attack"]]


def _attack(row: dict[str, Any]) -> HostileAttack:
    keys = {one.name for one in fields(HostileAttack)} - {"arguments"} | {"with"}
    wrong = {
        "keys": row.keys() ^ keys,
        "sends": {row.get("sends")} - {*PAYLOADS, *LOCAL, SOCKETS},
        "door": {row.get("door")} - {*COLLECTOR_DOORS, *AGENT_DOORS},
        "sender": {row.get("sender")} - {*SENDERS},
    }
    if said := {key: values for key, values in wrong.items() if values}:
        raise ValueError(f"attack {row.get('name')!r} of {_TABLE.name}: cannot be sent: {said}")
    return HostileAttack(**{"arguments" if key == "with" else key: row[key] for key in row})
