"""Faults on demand inside the processes of a job: an order in a file, looked at before every step.

RANKSCOPE_LAB_ORDERS names the file; it holds one JSON object, `{"mechanism": NAME, "ranks": [N]}`.
Without the variable nothing is ever looked at. What a mechanism does: lab/mechanisms.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from .. import mechanisms
from ..mechanisms import JobChange

VARIABLE = "RANKSCOPE_LAB_ORDERS"


class RankOrders:
    """The orders for one rank, or for the worker of its data loader."""

    def __init__(self, rank: int, environ: Mapping[str, str]) -> None:
        """Look for orders to this rank where the environment says."""
        self._rank = rank
        self._file = file(environ)
        self._every = int(environ.get("RANKSCOPE_LAB_ORDER_EVERY", "1"))
        self.change = JobChange()
        self._waits = self._file is not None

    def step(self, index: int) -> None:
        """Look for an order, and do what it says about the begin of a step."""
        if index % self._every == 0:
            self._look()
        self.change.step(self._rank, index)

    def load(self, dataset: list[bytes]) -> None:
        """Do what an order says about making a batch."""
        if self._every == 1:
            self._look()
        self.change.load(dataset)

    def _look(self) -> None:
        if self._waits and self._file is not None:
            order = read(self._file)
            if order is not None and self._rank in order[1]:
                self._waits = False
                make = mechanisms.named(order[0]).change
                self.change = make() if make is not None else self.change


def file(environ: Mapping[str, str]) -> Path | None:
    """Return where orders are written, None where there are none."""
    return Path(environ[VARIABLE]) if environ.get(VARIABLE) else None


def read(path: Path) -> tuple[str, tuple[int, ...]] | None:
    """Return an order, mechanism and ranks; None while there is none."""
    try:
        order = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None  # not there yet, or being written just now
    return str(order["mechanism"]), tuple(order["ranks"])


def given(path: Path, mechanism: str) -> bool:
    """Return whether the order for this mechanism has come."""
    order = read(path)
    return order is not None and order[0] == mechanism


def give(path: Path, *, mechanism: str, ranks: Sequence[int]) -> None:
    """Write an order; it is seen whole or not at all."""
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps({"mechanism": mechanism, "ranks": list(ranks)}), encoding="utf-8")
    draft.replace(path)
