"""What processes of the trial start with, and the driver's double, where that is the driver."""

import os
import socket
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

_STUB = "RANKSCOPE_NVML_STUB"


def until(seconds: float, question: Callable[[], Any]) -> bool:
    """Ask twice a second until the answer is true; False after so many seconds."""
    end = time.monotonic() + seconds
    while not (answer := question()) and time.monotonic() < end:
        time.sleep(0.5)
    return bool(answer)


def environment(more: Mapping[str, str]) -> dict[str, str]:
    """Return this environment without settings of Rankscope, and the driver's double if it is."""
    stub = {_STUB: os.environ[_STUB]} if on_double() else {}
    clean = {name: text for name, text in os.environ.items() if not name.startswith("RANKSCOPE_")}
    return {**clean, **stub, **more}


def alone() -> dict[str, str]:
    """Return what a launcher tells the only rank of a job."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = str(found.getsockname()[1])
    where = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    return {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", **where}


def on_double() -> bool:
    """Return whether the driver is the double of lab/node."""
    return _STUB in os.environ


def told(line: str) -> None:
    """Let something befall the double's device."""
    with Path(os.environ[_STUB]).open("a", encoding="utf-8") as scenario:
        scenario.write(f"{line}\n")
