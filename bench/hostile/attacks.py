"""The table of attacks, read."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .payloads import PAYLOADS

_TABLE = Path(__file__).with_name("attacks.toml")
_KEYS = {"name", "bound", "means", "sends", "with", "every_seconds", "payloads"}


@dataclass(frozen=True, slots=True)
class HostileAttack:
    """One row: what is sent, with which arguments, how often; `payloads` 0: without an end."""

    name: str
    bound: str
    means: str
    sends: str
    arguments: Mapping[str, Any]
    every_seconds: float
    payloads: int


def attacks() -> list[HostileAttack]:
    """Return all rows in their order. Raises ValueError for a row that nothing can be sent of."""
    return [_attack(row) for row in tomllib.loads(_TABLE.read_text("utf-8"))["attack"]]


def _attack(row: dict[str, Any]) -> HostileAttack:
    if row.keys() != _KEYS or row["sends"] not in PAYLOADS:
        raise ValueError(f"attack {row.get('name')!r}: needs {sorted(_KEYS)}, a payload that is")
    return HostileAttack(
        row["name"],
        row["bound"],
        row["means"],
        row["sends"],
        row["with"],
        row["every_seconds"],
        row["payloads"],
    )
