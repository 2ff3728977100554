"""`python -m bench.cluster`: three collectors as one, on this machine.

Without `--kills`: NATS of three servers, PostgreSQL, three collectors and haproxy are started, jobs
send telemetry, and progress is printed until Ctrl-C. With `--kills N` collectors are killed at
random under load; at the end no acknowledged payload may be missing, no incident missing or double,
no page sent under two ids, and a replay of the streams comes to what the database has. With
`--away SECONDS` there is one more round in which PostgreSQL, then all of NATS, are away for so
long. Interrupted, it goes on with the next round.
"""

import argparse
import itertools
import json
import signal
import statistics
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..soak.load import AcknowledgedPayloads, LoadJob
from ..soak.rounds import SoakState
from . import kills, takeovers
from .box import ClusterBox
from .outages import AWAY_SECONDS

_EVERY_SECONDS = 5.0
_IN_TIME_SECONDS = 10.0
"""A takeover is to be over by then."""


def main() -> int:
    """Run the cluster, or the kill test; 0 when nothing was wrong."""
    parser = argparse.ArgumentParser(prog="python -m bench.cluster", description=__doc__)
    parser.add_argument("--kills", type=int, default=0, help="kill collectors so many times")
    parser.add_argument(
        "--away", type=float, default=0.0, help="seconds without PostgreSQL, then without NATS"
    )
    parser.add_argument("--jobs", type=int, default=kills.JOBS, help="jobs that send at once")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, default=Path("bench-results") / "cluster")
    wanted = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # everything ends with us
    try:
        if wanted.kills or wanted.away:
            return _kills(wanted)
        return _show(wanted.jobs)
    except RuntimeError as error:
        print(f"stopped: {error}", file=sys.stderr)
        return 1


def _kills(wanted: argparse.Namespace) -> int:
    wanted.folder.mkdir(parents=True, exist_ok=True)
    folder = wanted.folder.resolve()
    file, measured = folder / "state.json", folder / "measured.json"
    state = SoakState.read(file, seed=wanted.seed)
    found: dict[str, list[dict[str, Any]]] = (
        json.loads(measured.read_text()) if measured.exists() else {"takeovers": [], "outages": []}
    )

    def run(count: int, away_seconds: float = AWAY_SECONDS) -> None:
        one = kills.round_of(
            folder, state, kills=count, say=_say, jobs=wanted.jobs, away_seconds=away_seconds
        )
        for name, rows in asdict(one).items():
            found[name] += rows
        state.write(file)
        measured.write_text(json.dumps(found, indent=1))

    try:
        while state.kills < wanted.kills:
            run(min(kills.KILLS_A_ROUND, wanted.kills - state.kills))
        if wanted.away and not any(row["seconds"] >= wanted.away for row in found["outages"]):
            run(0, wanted.away)
    except KeyboardInterrupt:
        _say(f"interrupted after {state.kills} kills; the same command goes on")
        return 130
    for line in state.wrong:
        _say(line)
    print(json.dumps(_summary(state, found)))
    return 1 if state.wrong else 0


def _summary(state: SoakState, found: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    took = [row["seconds"] for row in found["takeovers"]]
    summary: dict[str, Any] = {
        "kills": state.kills,
        "jobs": len(state.jobs),
        "acknowledged_payloads": state.payloads,
        "repeated_under_their_id": state.repeated,
        "wrong": len(state.wrong),
    }
    if took:
        summary |= {
            "takeover_seconds_median": round(statistics.median(took), 2),
            "takeover_seconds_most": round(max(took), 2),
            "taken_over_in_time": sum(one <= _IN_TIME_SECONDS for one in took),
        }
    if found["outages"]:
        longest = max(row["seconds"] for row in found["outages"])
        summary["away"] = [row for row in found["outages"] if row["seconds"] > longest / 2]
    return summary


def _show(jobs: int) -> int:
    with tempfile.TemporaryDirectory(prefix="rs-cluster-") as folder:
        box = ClusterBox(Path(folder))
        taken = AcknowledgedPayloads()
        running: list[LoadJob] = []
        try:
            _say("starting NATS (3), PostgreSQL, collectors (3) and haproxy")
            box.start()
            _say(f"console: http://127.0.0.1:{box.address[1]}/  (any collector answers for all)")
            _say(f"log.url: {box.nats.url}")
            for number in itertools.count():
                running = [job for job in running if job.is_alive()]
                if len(running) < jobs:
                    running.append(LoadJob(f"job-{number:03}", number, box.address, taken))
                    running[-1].start()
                time.sleep(_EVERY_SECONDS)
                _say(_progress(box, taken, len(running)))
        except KeyboardInterrupt:
            _say("ending")
        finally:
            for job in running:
                job.stop()
            box.stop()
    return 0


def _progress(box: ClusterBox, taken: AcknowledgedPayloads, jobs: int) -> str:
    owned = ", ".join(str(takeovers.partitions(port)[0]) for port in box.collectors.ports)
    incidents = kills.every(box.store)
    active = sum(row["status"] != "resolved" for row in incidents)
    return (
        f"{jobs} jobs, {len(taken.payloads)} payloads acknowledged, partitions of each collector: "
        f"{owned}; incidents: {len(incidents)}, {active} of them open"
    )


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
