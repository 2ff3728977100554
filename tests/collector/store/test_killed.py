"""kill -9 at random points loses no change and no message, and repeats only under the same id."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.examples import LONG

WORKER = Path(__file__).with_name("killed_worker.py")
KILLS = int(os.environ.get("RANKSCOPE_KILLS", "30" if LONG else "6"))
AGAIN = 6
"""Changes that a restart commits once more.

As a collector does that evaluates a time range again.
"""
STORY = ["incident.opened", "incident.updated", "incident.resolved"]


def _committed(folder):
    noted = folder / "committed"
    return len(set(noted.read_text().split())) if noted.exists() else 0


def _heard_more(receiver):
    count, end = len(receiver.got), time.monotonic() + 10
    while len(receiver.got) == count and time.monotonic() < end:
        time.sleep(0.001)


@pytest.mark.timeout(240 + 2 * KILLS)
def test_kills_lose_nothing_and_repeat_under_the_same_id(tmp_path, unmade_url, new_receiver):
    receiver = new_receiver()
    chance = random.Random(KILLS)
    workers = subprocess.Popen(
        [sys.executable, str(WORKER), str(tmp_path), unmade_url, receiver.url, receiver.secret],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    )

    commands, answers = workers.stdin, workers.stdout
    assert commands is not None
    assert answers is not None

    def run(first, last):
        commands.write(f"{first} {last}\n")
        return int(answers.readline())

    killed = 0
    try:
        while killed < KILLS:
            pid = run(max(0, _committed(tmp_path) - AGAIN), 1_000_000)
            # Half of them from the very start, migrations included; half in the midst of work.
            if killed % 2:
                _heard_more(receiver)
            time.sleep(chance.random() * 0.15)
            os.kill(pid, signal.SIGKILL)
            assert int(answers.readline()) == -signal.SIGKILL
            killed += 1
        last = _committed(tmp_path) + 9
        last -= last % len(STORY)
        run(max(0, last - 9 - AGAIN), last)
        assert int(answers.readline()) == 0
    finally:
        commands.close()
        workers.wait(60)
        answers.close()

    valid: dict[tuple[int, str], list[str]] = {}
    for row in receiver.got:
        key = (int(row.body["data"]["id"]), row.body["type"])
        valid.setdefault(key, []).append(row.webhook_id)
    assert sorted(valid) == sorted((n, type_) for n in range(last // 3) for type_ in STORY)
    assert all(len(set(ids)) == 1 for ids in valid.values())
    assert len({ids[0] for ids in valid.values()}) == len(valid)
    for incident in range(last // 3):
        order = list(
            dict.fromkeys(
                row.body["type"] for row in receiver.got if int(row.body["data"]["id"]) == incident
            )
        )
        assert order == STORY
    repeated: int = sum(len(ids) - 1 for ids in valid.values())
    assert repeated <= killed
    print(f"{killed} kills, {last} changes, {repeated} repeated")  # noqa: T201  shown by pytest -s
