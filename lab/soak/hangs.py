"""`python -m rankscope.lab.soak.hangs`: real jobs that stop in different ways, again and again.

Each run is a job of four ranks in torch over gloo with its agents and its collector, as in
`rankscope demo`. One JSON line a run: whether the culprit was named, whether the cause was, and the
seconds from the stop of progress to the first word. Interrupted, it goes on where it stopped. A run
in which nothing was made to hang (a part did not come up on a busy machine) is repeated.
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

from ...vocabulary.times import parse
from .. import mechanisms
from ..demo.client import Client
from ..demo.flow import Demo, DemoError
from ..demo.processes import Processes
from ..demo.stage import Stage, new_folder
from ..demo.unsupported import UnsupportedError

RUNS: Mapping[str, int] = {
    "skipped-collective": 20,
    "stop-signal": 20,
    "gil-hold": 20,
    "skipped-then-waits": 5,
    "loader-hang": 5,
    "other-size": 5,
    "early-exit": 5,
}
"""Mechanism and how often."""
_STACK_SECONDS = 20.0
_INJECTED = "injecting "
"""What the demo prints when it lets the job hang."""


def main() -> int:
    """Run what is missing; 0 when the culprit was right every time."""
    parser = argparse.ArgumentParser(prog="python -m rankscope.lab.soak.hangs", description=__doc__)
    parser.add_argument("--runs", type=int, help="of each; default: 20 of three, 5 of the others")
    parser.add_argument("--only", action="append", choices=list(RUNS), help="may be repeated")
    parser.add_argument("--folder", type=Path, default=Path("bench-results") / "hangs")
    wanted = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the job ends with us
    wanted.folder.mkdir(parents=True, exist_ok=True)
    file = wanted.folder / "runs.jsonl"
    names = wanted.only or list(RUNS)
    try:
        for name in _missing(file, names, wanted.runs):
            row = attempt(name, wanted.folder)
            with file.open("a") as out:
                print(json.dumps(row), file=out)
            print(json.dumps(row), file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print("interrupted; the same command goes on", file=sys.stderr)
        return 130
    summary = summed(_rows(file))
    print(json.dumps(summary))
    return 0 if all(row["culprit"] == row["runs"] for row in summary.values()) else 1


def attempt(name: str, folder: Path) -> dict[str, Any]:
    """Let one job stop; return what was found. `document.json` keeps the last incident of each."""
    mechanism, out = mechanisms.named(name), io.StringIO()
    place = new_folder()
    (place / "logs").mkdir()
    row: dict[str, Any] = {"mechanism": name, "culprit": False, "cause": False, "seconds": None}
    try:
        demo = Demo(mechanism=mechanism, trainer="torch", out=out)
        with Processes(place / "logs") as processes:
            stage = Stage(place, processes, demo.hosts, mechanism)
            client = Client(stage.address)
            document, verdict = demo.play(stage, client)
            document = document and _with_stacks(client, document, demo.culprit)
        row["text"] = verdict.text
        if document is not None:
            row |= _found(document, demo.culprit, right=verdict.right)
            (folder / f"{name}.json").write_text(json.dumps(document, indent=1))
    except (DemoError, UnsupportedError) as error:
        row["text"] = str(error)
    row["ran"] = _INJECTED in out.getvalue()
    (folder / f"{name}.log").write_text(out.getvalue())
    shutil.rmtree(place, ignore_errors=True)
    return row


def _with_stacks(client: Client, document: dict[str, Any], culprit: int) -> dict[str, Any]:
    """Return the incident once it shows the culprit's stack, or after a while without it."""
    until = time.monotonic() + _STACK_SECONDS
    while time.monotonic() < until and not _odd(document, culprit):
        time.sleep(1.0)
        document = client.incident(document["id"]) or document
    return document


def _odd(document: Mapping[str, Any], culprit: int) -> bool:
    return any(row["odd"] and row["ranks"] == [culprit] for row in document.get("stacks", ()))


def _found(document: Mapping[str, Any], culprit: int, *, right: bool) -> dict[str, Any]:
    entity = document["root_cause"]["hypotheses"][0]["entity"]
    return {
        "culprit": culprit in entity["ranks"] and len(entity["ranks"]) == 1,
        "cause": right,
        "seconds": round(parse(document["detected_at"]) - parse(document["opened_at"]), 1),
        "stack": _odd(document, culprit),
    }


def summed(rows: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return by mechanism how many runs there were, and in how many of them what was right."""
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        if not row.get("ran", True):
            continue
        one = found.setdefault(
            row["mechanism"], {"runs": 0, "culprit": 0, "cause": 0, "stack": 0, "most_seconds": 0.0}
        )
        one["runs"] += 1
        for what in ("culprit", "cause", "stack"):
            one[what] += bool(row.get(what))
        one["most_seconds"] = max(one["most_seconds"], row["seconds"] or 0.0)
    return found


def _missing(file: Path, names: Iterable[str], runs: int | None) -> Iterable[str]:
    """Yield the mechanism of each run that the file does not hold, in turns."""
    done = dict.fromkeys(names, 0)
    for row in _rows(file):
        if row["mechanism"] in done and row.get("ran", True):
            done[row["mechanism"]] += 1
    left = {name: (runs or RUNS[name]) - count for name, count in done.items()}
    while any(count > 0 for count in left.values()):
        for name, count in left.items():
            if count > 0:
                left[name] = count - 1
                yield name


def _rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


if __name__ == "__main__":
    sys.exit(main())
