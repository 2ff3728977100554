"""Lists of processes in a folder: a training that stands, and what waits all the time."""

import pytest
from tests.collector.artefacts.test_always_an_answer import said

from rankscope.collector.artefacts.logs import process_lists

HEADER = "  PID STAT     ELAPSED     TIME CMD\n"
STANDS = " 4711 Sl+     01:20:00 00:00:51 python3 train.py --gpus 4\n"
WORKS = " 4712 Rl+     01:20:00 01:31:07 python3 train.py --gpus 4\n"
WAITS = " 4710 S+      01:20:00 00:00:04 /usr/bin/python3 /usr/bin/torchrun train.py\n"


def idle(text):
    return [place for place, _ in process_lists.idle(text.encode().split(b"\n"))]


@pytest.mark.parametrize("text", [
    HEADER + STANDS, HEADER + WAITS + STANDS,
    HEADER + STANDS.replace("01:20:00 ", "2-01:20:00 ").replace("00:00:51", "00:51:00"),
    "ELAPSED TIME PID COMMAND\n   20:00 00:09 77 python -u main.py\n",
])  # fmt: skip
def test_a_training_that_lives_long_on_little_of_a_core_stands(text):
    assert [1 + (WAITS in text)] == idle(text)


@pytest.mark.parametrize("text", [
    HEADER + WORKS, HEADER + WAITS, HEADER + STANDS + WORKS, HEADER, STANDS,
    HEADER + STANDS.replace("01:20:00", "   03:00"),  # it has just begun
    HEADER + " 77 S+ 01:20:00 00:00:01 bash -c python3 train.py\n",
    HEADER + " 77 S+ long short python3 train.py\n",
    HEADER + "\n" + STANDS,  # the list is over
    "  PID TTY          TIME CMD\n 4711 pts/0    00:00:51 python3 train.py\n",
])  # fmt: skip
def test_one_that_works_or_waits_for_what_it_started_does_not(text):
    assert [] == idle(text)


def test_it_is_quoted_as_news_and_no_cause_is_named(explain, tmp_path):
    (tmp_path / "ps.txt").write_text(HEADER + STANDS)
    diagnosis = explain(tmp_path)
    assert ("unknown", "info") == (said(diagnosis)[0], diagnosis.document()["severity"])
    (tmp_path / "ps.txt").write_text(HEADER + STANDS + WORKS)
    (tmp_path / "job.log").write_text("step 1 loss 2.0\nstep 2 loss 1.9\n")
    assert explain(tmp_path).document() is None


TOP = "    PID USER  PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND\n"
AUX = "USER   PID %CPU %MEM    VSZ   RSS TTY   STAT START   TIME COMMAND\n"


def top(pid, state, share):
    return f"  {pid} me  20   0   58.1g   3.1g   0.4g {state}  {share}   0.3  90:11.02 python3\n"


def aux(state, command="python fit.py"):
    return f"me    41  0.0  0.3 581000 31000 pts/1 {state}  10:00   1:41 {command}\n"


@pytest.mark.parametrize("text", [
    TOP + top(41, "D", 0.3), AUX + aux("Dl+"), AUX + aux("Z+", "[python] <defunct>"),
], ids=["top", "ps", "zombie"])  # fmt: skip
def test_a_training_that_waits_for_a_disk_or_is_gone_stands(text):
    assert [1] == idle(text)


def test_where_one_is_busy_and_all_others_rest_the_first_of_these_is_told():
    assert [2] == idle(TOP + top(41, "R", 100.0) + top(42, "S", 0.0) + top(43, "S", 0.3))


@pytest.mark.parametrize("text", [
    TOP + top(41, "R", 101.0) + top(42, "R", 99.7) + top(43, "S", 98.0),
    TOP + top(41, "R", 100.0) + top(42, "S", 12.5) + top(43, "S", 0.0),  # loads data
    TOP + top(41, "R", 100.0), TOP + top(41, "S", 0.0), AUX + aux("Sl+"),
    AUX + aux("D", "find / -name core") + aux("Rl+"),
])  # fmt: skip
def test_trainings_that_work_or_may_do_not(text):
    assert [] == idle(text)
