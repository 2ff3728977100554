"""The five steps. Each returns what it found, and raises NotMeasuredError where it could not."""

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankscope.formats import flight_recorder, training_logs

from . import readings, surroundings
from .captures import CaptureFolder

if TYPE_CHECKING:
    from .node import TriedNode

_RATIO = 1.02
"""Of step times with and without the probe, up to which nothing is said to be added."""
_BASE, _LEAK = 20 << 30, 40 << 20
"""On the double: bytes in use at first, and how many more they become a second."""
_PACE_SECONDS = 25.0
"""Of steps before something is done to them: what is usual is known by then."""


class NotMeasuredError(Exception):
    """A step cannot be tried here; its text says why."""


@dataclass(frozen=True, slots=True)
class StepAnswer:
    """What a step found: whether it is right, a line about it, and figures."""

    right: bool
    text: str
    details: Mapping[str, Any]


def agent_on_driver(tried: "TriedNode", captures: CaptureFolder, at: float) -> StepAnswer:
    """Compare what the agent shows with nvidia-smi, before and after; ask the doctor."""
    doctor = _ran([sys.executable, "-m", "rankscope.cli.main", "doctor", "--json"], 40.0)
    captures.write("doctor.jsonl", doctor.stdout)
    rows = [json.loads(line) for line in doctor.stdout.splitlines() if line.startswith("{")]
    if not rows:
        raise NotMeasuredError(f"rankscope doctor says nothing: {_last(doctor.stderr)}")
    states = {row["reader"]: row for row in rows}
    if not states["gpu_watch"]["supported"]:
        raise NotMeasuredError(f"no driver answers: {states['gpu_watch']['reason']}")
    failed = [
        name for name, row in states.items() if name.startswith("gpu_") and row["state"] == "no"
    ]
    time.sleep(max(0.0, at - time.monotonic()))
    before, page, after = _smi(), tried.page(), _smi()
    captures.write("metrics.txt", page.decode("utf-8", "replace"))
    captures.write("nvidia-smi.xml", after)
    if not page:
        raise NotMeasuredError("the agent's page does not answer")
    if not before or not after:
        raise NotMeasuredError("nvidia-smi is not here, or names no GPU: nothing to compare with")
    found = readings.compared(page, readings.devices(before)[0], readings.devices(after)[0])
    equal = sum(row["verdict"] == "equal" for row in found)
    unread = [row["name"] for row in found if row["verdict"] == "not read"]
    text = f"{equal} of {len(found)} values equal nvidia-smi's, and stand under dcgm-exporter's"
    text += f" names, old and new; not read: {', '.join(unread)}"
    odd = [
        f"{row['name']}: {row['ours']} against {row['nvidia-smi']} {' '.join(row['dcgm'])}".strip()
        for row in found
        if readings.wrong(row)
    ]
    odd += [f"reader {name}: {states[name]['reason']}" for name in failed]
    return StepAnswer(equal > 0 and not odd, "; ".join(odd) or text, {"values": found})


def probed_job(folder: Path, captures: CaptureFolder, seconds: float) -> StepAnswer:
    """Compare steps with and without the probe; read a real dump and real lines of NCCL."""
    more = {
        **surroundings.alone(), "NCCL_DEBUG": "INFO", "TORCH_NCCL_TRACE_BUFFER_SIZE": "2000",
        "TORCH_FR_BUFFER_SIZE": "2000", "RANKSCOPE_JOB_ID": "measured",
        "RANKSCOPE_AGENT": f"unix://{folder / 'probe.sock'}",
    }  # fmt: skip
    ran = _job("measured", folder, more, seconds)
    captures.write("nccl.log", ran.stdout)
    if not (folder / "measured.json").exists():
        raise NotMeasuredError(f"the job ended with {ran.returncode}: {_last(ran.stdout)}")
    found = json.loads((folder / "measured.json").read_text(encoding="utf-8"))
    without = found["synchronisations a step, without"]
    added = {
        name: count - without[name]
        for name, count in found["synchronisations a step, with"].items()
        if count > without[name]
    }
    odd = [f"{name} {count:g} more a step" for name, count in added.items()]
    if found["step time ratio"] > _RATIO:
        odd.append(f"steps take {found['step time ratio']:.3f} times as long")
    body = (folder / "recorder.pickle").read_bytes()
    try:
        dump = flight_recorder.read(body)
    except flight_recorder.DumpError as error:
        odd.append(f"the Flight Recorder's dump is not read: {error}")
    else:
        found["recorder"] = {"version": dump.version, "entries": len(dump.entries)}
        captures.write("flight-recorder.txt", repr(dump))
        if len(dump.entries) < found["all-reduces, at least"]:
            odd.append(f"only {len(dump.entries)} entries are read of the dump")
    found["communicators"], missed = nccl_lines(ran.stdout)
    odd += missed
    if not found["communicators"] and found["backend"] == "nccl":
        odd.append("NCCL wrote no line of a communicator")
    text = f"no synchronisation added, step time ratio {found['step time ratio']:.3f}, the dump"
    text += f" and {found['communicators']} communicators of NCCL's are read"
    return StepAnswer(not odd, "; ".join(odd) or text, found)


def nccl_lines(log: str) -> tuple[int, list[str]]:
    """Return how many communicators a healthy job's log has, and what is read of it wrongly.

    That NCCL found no InfiniBand only confirms another line, where there is one.
    """
    whole = sum("Init COMPLETE" in line for line in log.splitlines())
    lines = list(training_logs.read(log.splitlines(), rank=0, world_size=1))
    events = [(line.text, event) for line in lines for event in line.events]
    read = sum(event.name == "collective.communicator" for _, event in events)
    odd = [] if read == whole else [f"{read} of {whole} communicators are read"]
    odd += [
        f"a healthy job's line is read as a fault: {text}"
        for text, event in events
        if event.name == "log.fault" and event.attributes.get("role") != "confirmation"
    ]
    return whole, odd


def out_of_memory(folder: Path, captures: CaptureFolder, seconds: float) -> StepAnswer:
    """Let a job run out of device memory, and its log be explained."""
    left = folder / "oom-job"
    left.mkdir()
    ran = _job("oom", folder, surroundings.alone(), seconds)
    left.joinpath("rank_0.log").write_text(ran.stdout, encoding="utf-8")
    captures.write("oom.log", ran.stdout)
    if "OutOfMemoryError" not in ran.stdout:
        raise NotMeasuredError(f"the job did not run out of memory: {_last(ran.stdout)}")
    return explained(left, seconds)


def explained(left: Path, seconds: float) -> StepAnswer:
    """Return whether the log of a job that ran out of device memory is explained so."""
    words = ["diagnose", str(left), "--json", "--time-zone", "UTC"]
    said = _ran([sys.executable, "-m", "rankscope.cli.main", *words], seconds)
    try:
        document = json.loads(said.stdout)
    except ValueError:
        return StepAnswer(False, f"diagnose says nothing: {_last(said.stderr)}", {})
    first = next(iter(document["root_cause"]["hypotheses"]), None)
    if first is None:
        return StepAnswer(False, "diagnose names no cause", {"summary": document["summary"]})
    answer = f"{first['fault']} at {first['entity']['type']} {first['entity']['id']}"
    right = answer == "memory.gpu_oom at rank 0"
    return StepAnswer(right, f"diagnose says {answer}", {"summary": document["summary"]})


def leak_on_double() -> None:
    """Let the memory of the double's device fill, from before the agent sees it."""
    surroundings.told(f"gpu0.memory_used = {_BASE} +{_LEAK}/s @{time.time():.3f}")


def leak(tried: "TriedNode", seconds: float) -> StepAnswer:
    """Wait until the leak of the job that runs since the start is named."""
    return _named(tried, "leak", "leak", "memory.gpu_leak", "rank", seconds)


def foreign_process(tried: "TriedNode", shared: Path, seconds: float) -> StepAnswer:
    """Let a process of no job take half of the device, once the job's pace is known."""
    if not surroundings.until(seconds / 3, lambda: tried.trains("steady")):
        raise NotMeasuredError("the job reported no step")
    time.sleep(_PACE_SECONDS)
    if any(cause["fault"] == "gpu.foreign_process" for cause in tried.causes("steady")):
        return StepAnswer(False, "gpu.foreign_process is named before there is one", {})
    other = tried.job("foreign", rank=False)
    pid = other.handle.pid
    shared.touch()
    try:
        answer = _named(tried, "steady", "foreign", "gpu.foreign_process", "gpu", seconds / 2)
        named = [
            one.text
            for device in readings.devices(_smi() or "<none/>")
            for one in device.iterfind("processes/process_info/pid")
        ]
    finally:
        tried.stop(other)
    if not answer.right and str(pid) not in named and not surroundings.on_double():
        text = f"nvidia-smi does not name it either, and names {len(named)} processes"
        raise NotMeasuredError(f"{answer.text}; {text}: a pid namespace of its own?")
    return answer


def _named(
    tried: "TriedNode", job: str, cause: str, fault: str, at: str, seconds: float
) -> StepAnswer:
    """Wait until an incident's first cause is this fault, which the start of `cause` began."""

    def found() -> list[dict[str, Any]]:
        return [
            one
            for one in tried.causes(job)
            if one["fault"] == fault and one["entity"]["type"] == at
        ]

    right = surroundings.until(seconds, found)
    took = time.monotonic() - tried.began[cause]
    causes = tried.causes(job)
    said = [f"{one['fault']} at {one['entity']['type']} {one['entity']['id']}" for one in causes]
    details = {"causes": said, "incidents": tried.client.incidents(job), "seconds": round(took, 1)}
    if right:
        return StepAnswer(True, f"{fault} is named after {took:.0f} s", details)
    text = f"{fault} is not named in {took:.0f} s"
    return StepAnswer(False, f"{text}; {', '.join(said) or 'no incident has a cause'}", details)


def _smi() -> str:
    program = shutil.which("nvidia-smi")
    said = _ran([program, "-q", "-x"], 20.0).stdout if program else ""
    return said if "<gpu " in said else ""


def _job(
    kind: str, folder: Path, more: Mapping[str, str], seconds: float
) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "bench.device.job", kind, "--folder", str(folder)]
    return _ran(words, seconds, more, together=True)


def _ran(
    command: Sequence[str],
    seconds: float,
    more: Mapping[str, str] | None = None,
    *,
    together: bool = False,
) -> subprocess.CompletedProcess[str]:
    """Run a program; one that takes too long is ended. together: errors are in its output."""
    try:
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if together else subprocess.PIPE,
            text=True,
            errors="replace",
            env=surroundings.environment(more or {}),
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise NotMeasuredError(
            f"{' '.join(command[1:4])} took more than {seconds:.0f} s"
        ) from error


def _last(text: str) -> str:
    return next(iter(text.strip().splitlines()[-1:]), "and nothing else")
