"""Faults on demand inside a training process: an order in a file, looked at before every step.

RANKSCOPE_LAB_ORDERS names the file; it holds one JSON object, `{"fault": ID, "rank": N}`, with
"how" for a crash ("raise", "exit", "segfault"). Without the variable nothing is ever looked at.
"""

import ctypes
import json
import os
import threading
import time
from collections.abc import Mapping
from pathlib import Path

VARIABLE = "RANKSCOPE_LAB_ORDERS"
STUCK = "software.stuck_process"
NAN = "numerics.nan_rank"
CRASH = "software.crash"
SLOW_LOADER = "software.dataloader_slow"
EXTRA_WORK = "balance.rank0_preprocessing"

LOADER_SECONDS = 0.06
"""How much longer an ordered slow loader takes for each batch."""

EXTRA_SECONDS = 0.04
"""CPU time that an ordered rank spends in each step on something that is not training."""


class OrderedCrashError(RuntimeError):
    """What an ordered crash raises; nothing catches it."""


class Orders:
    """The orders for one rank. Each is carried out once, or from then on at every step."""

    def __init__(self, rank: int, environ: Mapping[str, str]) -> None:
        """Look for orders to this rank where the environment says."""
        self._rank = rank
        self._file = Path(environ[VARIABLE]) if environ.get(VARIABLE) else None
        self._done = False
        self._lasting = ""

    def obey(self, step: int) -> bool:
        """Carry out an order that has come; return True when this step's input shall be bad.

        A stuck process never comes back from here, and a crash ends the process or raises.
        """
        order = self._read()
        if order is None:
            return False
        self._done = True
        fault = order.get("fault")
        if fault == STUCK:
            # The main thread alone stops: the probe's own threads live on, as in a real deadlock.
            threading.Event().wait()
        if fault in (SLOW_LOADER, EXTRA_WORK):
            self._lasting = str(fault)
        if fault == CRASH:
            self._crash(str(order.get("how", "raise")), step)
        return fault == NAN

    def load(self) -> None:
        """Take longer for a batch where that was ordered; the data loader calls it."""
        if self._lasting == SLOW_LOADER:
            time.sleep(LOADER_SECONDS)

    def preprocess(self) -> None:
        """Calculate for something beside training where that was ordered."""
        if self._lasting == EXTRA_WORK:
            # By CPU time: where the machine is shared it is as much work, and takes longer.
            until = time.thread_time() + EXTRA_SECONDS
            while time.thread_time() < until:
                sum(range(2000))

    def _read(self) -> Mapping[str, object] | None:
        if self._file is None or self._done:
            return None
        try:
            order = json.loads(self._file.read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return None  # not there yet, or being written just now
        return order if order.get("rank") == self._rank else None

    def _crash(self, how: str, step: int) -> None:
        if how == "segfault":
            ctypes.string_at(0)
        if how == "exit":
            os._exit(3)
        raise OrderedCrashError(f"rank {self._rank} was ordered to crash at step {step}")


def give(file: Path, *, fault: str, rank: int, how: str = "raise") -> None:
    """Write an order; it is seen whole or not at all."""
    draft = file.with_suffix(".draft")
    draft.write_text(json.dumps({"fault": fault, "rank": rank, "how": how}), encoding="utf-8")
    draft.replace(file)
