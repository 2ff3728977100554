"""The child process of a check: bounded, ended whole, and whatever it does is an answer."""

import sys
import time
from pathlib import Path

from rankscope.checks import children
from rankscope.checks.measurements.rows import CheckOrder

ORDER = CheckOrder("cpu", seconds=0.05, fraction=0.1)


def never():
    return ""


def script(text):
    return (sys.executable, "-c", text)


def measured(text, *, seconds=20.0, yielding=never):
    (row,) = children.measure(ORDER, most_seconds=seconds, yielding=yielding, command=script(text))
    return row


def gone(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_a_check_gives_its_samples():
    (row,) = children.measure(ORDER, most_seconds=60.0, yielding=never)
    assert "cpu" == row.device
    assert row.samples
    assert all(value > 0 for value in row.samples)


def test_one_that_hangs_is_killed_with_what_it_started(tmp_path):
    note = tmp_path / "pid"
    began = time.monotonic()
    row = measured(
        "import subprocess, sys, time, pathlib\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"pathlib.Path({str(note)!r}).write_text(str(child.pid))\n"
        "time.sleep(600)\n",
        seconds=3.0,
    )
    assert "it did not end in time and was killed" == row.failed
    assert time.monotonic() - began < 30
    pid = int(note.read_text())
    deadline = time.monotonic() + 10
    while not gone(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert gone(pid)


def test_one_that_is_killed_says_by_which_signal():
    row = measured("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    assert "it was killed by SIGKILL" == row.failed


def test_one_that_fails_says_its_last_line():
    row = measured("raise SystemExit('no such device')")
    assert "it ended with 1: no such device" == row.failed


def test_an_answer_that_is_none_is_a_failure():
    assert measured("print('[{}]')").failed
    assert measured("print('{\"device\": 1}')").failed
    assert measured("import sys; sys.stdout.write('x' * (4 << 20))").failed


def test_much_that_it_says_beside_its_answer_stops_nothing():
    text = "import sys; sys.stderr.write('noise' * 100_000); print('[]')"
    assert [] == children.measure(ORDER, most_seconds=20.0, yielding=never, command=script(text))


def test_the_node_is_left_at_once_to_a_job_that_starts():
    began = time.monotonic()
    row = measured(
        "import time; time.sleep(600)", seconds=60.0, yielding=lambda: "a training process runs"
    )
    assert ("a training process runs", "") == (row.missing, row.failed)
    assert time.monotonic() - began < 30


def test_a_child_is_no_rank_of_the_job_whose_variables_it_inherits(monkeypatch):
    monkeypatch.setenv("RANK", "3")
    monkeypatch.setenv("RANKSCOPE_PROBE", "1")
    (row,) = children.measure(ORDER, most_seconds=60.0, yielding=never)
    assert not row.failed


def test_nothing_of_a_disk_check_is_left_in_its_folder(tmp_path):
    # So slow that it is ended, whatever the disk is like.
    order = CheckOrder("local_disk", seconds=30.0, temporary_path=str(tmp_path), extra=1e6)
    (row,) = children.measure(order, most_seconds=2.0, yielding=never)
    assert row.failed
    assert [] == list(tmp_path.iterdir())
