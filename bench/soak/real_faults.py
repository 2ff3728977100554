"""`python -m bench.soak.real_faults`: real jobs with a fault, again and again.

Each run is a job of four ranks with its agents and its collector, as in `rankscope demo`: every
mechanism of the laboratory five times, or (`--hangs`) those that stop the job more often. One JSON
line a run: whether the first cause was right at the right entity, the rank that was named, the
seconds from the injection to the incident and from the onset to the first word, and what else was
said above info. Interrupted, it goes on where it stopped. A run in which nothing was injected (a
part did not come up on a busy machine) is repeated.
"""

import argparse
import io
import json
import shutil
import signal
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rankscope.lab import mechanisms
from rankscope.lab.demo.client import DemoClient
from rankscope.lab.demo.flow import DemoError, DemoRun
from rankscope.lab.demo.processes import DemoProcesses
from rankscope.lab.demo.stage import DemoStage, new_folder
from rankscope.lab.demo.unsupported import InjectionUnsupportedError
from rankscope.lab.demo.verdict import unrelated
from rankscope.vocabulary.times import parse

RUNS = 5
HANGS: Mapping[str, int] = {
    "skipped-collective": 20,
    "stop-signal": 20,
    "gil-hold": 20,
    "skipped-then-waits": 5,
    "loader-hang": 5,
    "other-size": 5,
    "early-exit": 5,
}
"""Mechanisms that stop the job, and how often."""
_STACK_SECONDS = 20.0
_INJECTED = "injecting "
"""What the demo prints when it injects the fault."""


def main() -> int:
    """Run what is missing; 0 when the first cause was right every time."""
    parser = argparse.ArgumentParser(prog=f"python -m {__spec__.name}", description=__doc__)
    known = [one.name for one in mechanisms.MECHANISMS]
    parser.add_argument("--hangs", action="store_true", help="those that stop the job, 80 runs")
    parser.add_argument("--runs", type=int, help="of each; default: 5, with --hangs up to 20")
    parser.add_argument("--only", action="append", choices=known, metavar="MECHANISM",
                        help="as `rankscope lab list` names it; may be repeated")  # fmt: skip
    parser.add_argument("--folder", type=Path, default=Path("bench-results") / "faults")
    wanted = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the job ends with us
    wanted.folder.mkdir(parents=True, exist_ok=True)
    file = wanted.folder / "runs.jsonl"
    counts = HANGS if wanted.hangs else dict.fromkeys(known, RUNS)
    names = wanted.only or list(counts)
    try:
        for name in _missing(file, {name: wanted.runs or counts.get(name, RUNS) for name in names}):
            row = attempt(name, wanted.folder)
            with file.open("a") as out:
                print(json.dumps(row), file=out)
            print(json.dumps(row), file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print("interrupted; the same command goes on", file=sys.stderr)
        return 130
    summary = summed(_rows(file))
    print(json.dumps(summary))
    return 0 if all(row["right"] == row["runs"] for row in summary.values()) else 1


def attempt(name: str, folder: Path) -> dict[str, Any]:
    """Let one job have the fault; return what was found. A file keeps the last incident of each."""
    mechanism, out = mechanisms.named(name), io.StringIO()
    place = new_folder()
    (place / "logs").mkdir()
    row: dict[str, Any] = {"mechanism": name, "right": False, "seconds": None, "others": []}
    try:
        demo = DemoRun(mechanism=mechanism, trainer=mechanism.trainers[0], out=out)
        with DemoProcesses(place / "logs") as processes:
            stage = DemoStage(place, processes, demo.hosts, mechanism)
            client = DemoClient(stage.address)
            document, verdict = demo.play(stage, client)
            row |= {"right": verdict.right, "text": verdict.text}
            if document is not None:
                if name in HANGS:
                    document = _with_stacks(client, document, demo.culprit)
                row["others"] = list(unrelated(client.incidents(stage.job_id), document["id"]))
                row |= _found(document, demo)
        if document is not None:
            (folder / f"{name}.json").write_text(json.dumps(document, indent=1))
    except (DemoError, InjectionUnsupportedError) as error:
        row["text"] = str(error)
    row["ran"] = _INJECTED in out.getvalue()
    (folder / f"{name}.log").write_text(out.getvalue())
    shutil.rmtree(place, ignore_errors=True)
    return row


def _with_stacks(client: DemoClient, document: dict[str, Any], culprit: int) -> dict[str, Any]:
    """Return the incident once it shows the culprit's stack, or after a while without it."""
    until = time.monotonic() + _STACK_SECONDS
    while time.monotonic() < until and not _odd(document, culprit):
        time.sleep(1.0)
        document = client.incident(document["id"]) or document
    return document


def _odd(document: Mapping[str, Any], culprit: int) -> bool:
    return any(row["odd"] and row["ranks"] == [culprit] for row in document.get("stacks", ()))


def _found(document: Mapping[str, Any], demo: DemoRun) -> dict[str, Any]:
    first = next(iter(document["root_cause"]["hypotheses"]), None)
    named = first["entity"]["ranks"] if first else []
    return {
        "culprit": named == [demo.culprit],
        "after": demo.seconds,
        "seconds": round(parse(document["detected_at"]) - parse(document["opened_at"]), 1),
        "stack": _odd(document, demo.culprit),
    }


def summed(rows: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return by mechanism how many runs there were, and in how many of them what was right."""
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        if not row.get("ran", True):
            continue
        one = found.setdefault(
            row["mechanism"],
            {"runs": 0, "right": 0, "culprit": 0, "stack": 0, "others": 0}
            | {"most_seconds": 0.0, "most_after": 0.0},
        )
        one["runs"] += 1
        for what in ("right", "culprit", "stack"):
            one[what] += bool(row.get(what))
        one["others"] += len(row.get("others", ()))
        one["most_seconds"] = max(one["most_seconds"], row.get("seconds") or 0.0)
        one["most_after"] = max(one["most_after"], row.get("after") or 0.0)
    return found


def _missing(file: Path, runs: Mapping[str, int]) -> Iterable[str]:
    """Yield the mechanism of each run that the file does not hold, in turns."""
    left = dict(runs)
    for row in _rows(file):
        if row["mechanism"] in left and row.get("ran", True):
            left[row["mechanism"]] -= 1
    while any(count > 0 for count in left.values()):
        for name, count in left.items():
            if count > 0:
                left[name] = count - 1
                yield name


def _rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


if __name__ == "__main__":
    sys.exit(main())
