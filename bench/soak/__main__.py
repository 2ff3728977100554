"""`python -m bench.soak`: kill -9 of a collector under load, again and again.

Jobs send telemetry in real time; the loss of each turns NaN once, so each has one incident that
opens and is resolved. The collector is killed at random moments, at its start too. At the end of
each round nothing may be missing: no acknowledged payload, no incident, no change, no message; and
a message that comes twice has the webhook-id that it had. At the very end the store is compared
with a replay of the whole journal. Interrupted, it goes on where it stopped.
"""

import argparse
import base64
import json
import signal
import sys
from pathlib import Path

from .receiver import MessageReceiver
from .rounds import KILLS_A_ROUND, SoakRun, SoakState
from .victim import VictimCollector

_SECRET = "whsec_" + base64.b64encode(b"of nobody but this soak: 32 byte").decode()


def main() -> int:
    """Run to the number of kills; 0 when nothing was wrong."""
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description=__doc__)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--store", default="", help="store.url of the collector; default: SQLite")
    parser.add_argument("--folder", type=Path, default=Path("bench-results") / "soak")
    wanted = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the collector ends with us
    wanted.folder.mkdir(parents=True, exist_ok=True)
    folder = wanted.folder.resolve()
    state = SoakState.read(folder / "state.json", seed=wanted.seed)
    if state.kills:
        print(f"{folder}: goes on after {state.kills} kills", file=sys.stderr)
    receiver = MessageReceiver(
        folder / "messages.jsonl", _SECRET, seed=f"{state.seed} {state.rounds}"
    )
    victim = VictimCollector(folder, url=receiver.url, secret=_SECRET, store=wanted.store)
    soak = SoakRun(folder, state, victim=victim, receiver=receiver, say=_say)
    try:
        while state.kills < wanted.kills:
            soak.round(min(KILLS_A_ROUND, wanted.kills - state.kills))
        soak.finish()
    except KeyboardInterrupt:
        print(f"interrupted after {state.kills} kills; the same command goes on", file=sys.stderr)
        return 130
    except RuntimeError as error:
        print(f"stopped after {state.kills} kills: {error}", file=sys.stderr)
        return 1
    finally:
        receiver.stop()
    for line in state.wrong:
        print(line, file=sys.stderr)
    summary = {
        "kills": state.kills,
        "jobs": len(state.jobs),
        "acknowledged_payloads": state.payloads,
        "messages": len(receiver.messages),
        "repeated_under_their_id": state.repeated,
        "wrong": len(state.wrong),
    }
    print(json.dumps(summary))
    return 1 if state.wrong else 0


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
