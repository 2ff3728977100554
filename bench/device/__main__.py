"""Run the steps in an order in which they wait for one another as little as can be."""

import argparse
import contextlib
import importlib
import json
import os
import platform
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import steps, surroundings
from .captures import CaptureFolder
from .steps import NotMeasuredError, StepAnswer

STEPS = {
    1: "the agent on the driver",
    2: "a CUDA job with the probe",
    3: "a CUDA out-of-memory",
    4: "a device leak",
    5: "a foreign process",
}
SECONDS = 282.0
"""For everything; bench/device.sh ends it eight seconds later."""
_SECONDS = {2: 75.0, 3: 40.0, 5: 100.0}
_LEFT_FOR_LATER = 5.0
_AGENT = ("psutil", "pynvml", "rankscope.agent.service")
_COLLECTOR = ("rankscope.collector.service",)


class DeviceTrial:
    """One run. `results`: by the number of the step, what the summary says of it."""

    def __init__(self, folder: Path, chosen: set[int], *, rehearse: bool, settle: float) -> None:
        self.results: dict[int, dict[str, Any]] = {}
        self.captures = CaptureFolder(folder)
        self._chosen, self._rehearse = chosen, rehearse
        self._began = time.monotonic()
        self._ready_at = self._began + settle
        self._torch, self._no_cuda = _torch()

    @property
    def left(self) -> float:
        """Return how many seconds are left."""
        return max(1.0, SECONDS - (time.monotonic() - self._began))

    def run(self, work: Path) -> None:
        """Try every step; what runs meanwhile has ended afterwards."""
        with contextlib.ExitStack() as ending:
            ending.callback(self._write, work)  # whatever there is, also of a run that is ended
            tried = self._start(work, ending)
            shared = work / "shared"
            self._try(1, lambda: steps.agent_on_driver(tried(1), self.captures, self._ready_at))
            self._try(5, lambda: steps.foreign_process(tried(5), shared, self._for(5)))
            shared.unlink(missing_ok=True)
            self._try(2, lambda: steps.probed_job(work, self.captures, self._for(2)))
            self._try(3, lambda: steps.out_of_memory(work, self.captures, self._for(3)))
            self._try(4, lambda: steps.leak(tried(4), self.left - _LEFT_FOR_LATER))

    def _start(self, work: Path, ending: contextlib.ExitStack) -> Callable[[int], Any]:
        """Start agent and collector, and the jobs that take their time; return who has them."""
        absent = _absent(_AGENT)
        later = absent or _absent(_COLLECTOR)
        wanted = self._chosen & {1, 4, 5}
        found: Any = None
        if wanted and not absent:
            from rankscope.lab.demo.processes import DemoProcesses  # noqa: PLC0415  needs psutil

            from .node import TriedNode  # noqa: PLC0415  the same

            found = TriedNode(work, ending.enter_context(DemoProcesses(work)))
            if self._rehearse and surroundings.on_double() and 4 in wanted:
                steps.leak_on_double()
            found.agent()
            if wanted & {4, 5} and self._jobs and not later:
                found.collector()
                if not found.ready(30.0):
                    later = "agent or collector did not start within 30 s"
                elif 4 in wanted:
                    found.job("leak")
                if not later and 5 in wanted:
                    found.job("steady", "--shared", str(work / "shared"))

        def tried(number: int) -> Any:
            if reason := absent if number == 1 else later:
                raise NotMeasuredError(reason)
            return found

        return tried

    @property
    def _jobs(self) -> bool:
        return self._torch and (not self._no_cuda or self._rehearse)

    def _for(self, number: int) -> float:
        return min(_SECONDS[number], self.left)

    def _try(self, number: int, step: Callable[[], StepAnswer]) -> None:
        """Try a step; without CUDA a job's is a rehearsal at most, no measurement, and says so."""
        if number not in self._chosen:
            return
        began = time.monotonic()
        details: Any = {}
        try:
            if number > 1 and not self._jobs:
                raise NotMeasuredError(self._no_cuda)
            if number == 3 and (absent := _absent(_COLLECTOR)):
                raise NotMeasuredError(absent)
            answer = step()
        except NotMeasuredError as error:
            text = f"not measured: {error}"
        except Exception as error:  # noqa: BLE001  the edge of one step: the others go on
            text = f"not measured: the step itself failed: {error!r}"
        else:
            details = answer.details
            text = f"{'right' if answer.right else 'WRONG'}: {answer.text}"
        if number > 1 and self._jobs and self._no_cuda:
            text = f"not measured: {self._no_cuda} (rehearsed: {text})"
        self._said(number, text, round(time.monotonic() - began, 1), details)

    def _said(self, number: int, text: str, seconds: float, details: Any) -> None:
        text = self.captures.clean(text)
        verdict = text.partition(":")[0]
        self.results[number] = {
            "step": number, "name": STEPS[number], "verdict": verdict, "text": text,
            "seconds": seconds, "details": details,
        }  # fmt: skip
        print(f"{number} {STEPS[number]}: {text}", flush=True)

    def _write(self, work: Path) -> None:
        logs = [f"{one.name}\n{one.read_text('utf-8', 'replace')}" for one in work.glob("*.log")]
        self.captures.write("logs.txt", "\n".join(logs))
        about = {
            "python": platform.python_version(), "kernel": platform.release(),
            "torch": _version("torch"), "rankscope": _version("rankscope"),
            "driver": "a double" if surroundings.on_double() else "see nvidia-smi.xml",
            "seconds": round(time.monotonic() - self._began, 1),
            "steps": [self.results[number] for number in sorted(self.results)],
        }  # fmt: skip
        self.captures.write("summary.json", json.dumps(about, indent=1, default=str))


def _torch() -> tuple[bool, str]:
    """Return whether torch can be imported, and why there is no CUDA, "" where there is."""
    if absent := _absent(("torch",)):
        return False, absent
    import torch  # noqa: PLC0415  may be missing

    return True, "" if torch.cuda.is_available() else "torch sees no CUDA device"


def _absent(modules: tuple[str, ...]) -> str:
    """Return why one of these cannot be imported, "" where all can."""
    for name in modules:
        try:
            importlib.import_module(name)
        except ImportError as error:
            return f"{error} (pip install '.[agent,collector]' torch)"
    return ""


def _version(name: str) -> str:
    from importlib import metadata  # noqa: PLC0415

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "from the source tree"


def main() -> int:
    """Return 0 where nothing is WRONG."""
    parser = argparse.ArgumentParser(prog="bench/device.sh", description=__doc__)
    default = Path(os.environ.get("OUT") or Path("bench-results") / "device")
    parser.add_argument("folder", type=Path, nargs="?", default=default)
    parser.add_argument("--steps", default="1,2,3,4,5", help="default: all")
    parser.add_argument("--rehearse", action="store_true", help="on the double, jobs on CPUs")
    parser.add_argument("--settle", type=float, default=15.0, help="seconds until the page is read")
    wanted = parser.parse_args()
    chosen = {int(number) for number in wanted.steps.split(",")} & set(STEPS)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what was started ends with us
    trial = DeviceTrial(wanted.folder, chosen, rehearse=wanted.rehearse, settle=wanted.settle)
    with tempfile.TemporaryDirectory(prefix="rs-", dir="/tmp") as work:
        trial.run(Path(work))
    print(f"{wanted.folder}: {', '.join(trial.captures.written)}", flush=True)
    return int(any(row["verdict"] == "WRONG" for row in trial.results.values()))


if __name__ == "__main__":
    sys.exit(main())
