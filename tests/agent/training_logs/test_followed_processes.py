"""Processes with a rank: what they print is followed, and they are reported."""

import os
import subprocess
import sys

import pytest

from rankscope.agent.rank_processes import RankProcesses
from rankscope.agent.training_logs import LogSources

from .conftest import append, line

WRITER = """
import os, sys
sys.stdin.readline()
print("iter 1: loss 2.5, time 100.00ms", flush=True)
print("iter 2: loss 2.5, time 100.00ms", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def trainer():
    """Start processes as a launcher does, with their output in a file."""
    started = []

    def start(path, *, append=False, **environ):
        with path.open("ab" if append else "wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-c", WRITER],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                env={"PATH": os.environ["PATH"], **environ},
            )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


RANK = {"RANKSCOPE_JOB_ID": "own", "LOCAL_RANK": "1", "WORLD_SIZE": "8"}


def own(node, follower):
    """Take a turn; return steps and ranks of the job of these tests: other tests have jobs too."""
    return [
        (int(sample.value), dict(sample.attributes)["rank"])
        for batch in node.turn(follower)
        if batch.job == "own"
        for sample in batch.samples
        if sample.metric == "training.step"
    ]


def say(process):
    process.stdin.write(b"\n")
    process.stdin.flush()


def test_the_output_of_a_process_with_a_rank_is_followed(node, trainer, until):
    follower = node.start(follow=True)
    node.turn(follower)
    process = trainer(node.folder / "out", RANK="5", **RANK)
    say(process)
    found = []

    def both():
        found.extend(own(node, follower))
        return len(found) == 2

    until(both)
    assert found == [(1, 5), (2, 5)]
    name = str(node.folder / "out")
    (followed,) = [one for one in follower._files.values() if one.source.name == name]
    assert followed.source.world_size == 8
    process.kill()
    process.wait()
    for _ in range(20):
        node.turn(follower)
    assert all(one.source.name != name for one in follower._files.values())


def test_a_file_that_several_ranks_write_has_the_rank_of_who_prints_in_the_framework(
    node, trainer, until
):
    follower = node.start(follow=True)
    node.turn(follower)
    path = node.folder / "out"
    first = trainer(path, append=True, RANK="4", **{**RANK, "LOCAL_RANK": "0"})
    second = trainer(path, append=True, RANK="5", **RANK)
    for process in (first, second):
        assert process.poll() is None

    def followed():
        node.turn(follower)
        mine = [one for one in follower._files.values() if one.source.name == str(path)]
        return [one for one in mine if len(one.source.ranks) == 2]

    (both,) = until(followed)
    assert both.source.rank is None
    assert both.source.local_ranks == {0: 4, 1: 5}
    append(path, "[default1]:" + line(7))
    assert own(node, follower) == [(7, 5)]


def test_processes_with_a_rank_are_reported_without_what_they_start(node, trainer, until):
    follower = node.start(follow=True)
    process = trainer(node.folder / "out", RANK="5", **RANK)
    say(process)

    def seen():
        node.turn(follower)
        return [
            (one.pid, one.rank, one.world_size)
            for launched in node.launched
            for one in launched.processes
            if one.job == "own"
        ]

    assert {(process.pid, 5, 8)} == set(until(seen))


def test_processes_that_report_to_an_agent_by_themselves_are_left_to_it(node, trainer, until):
    """That may be another agent on the same machine, under the name of another host."""
    follower = node.start(follow=True)
    named = trainer(
        node.folder / "a", RANK="4", **{**RANK, "LOCAL_RANK": "0"}, RANKSCOPE_AGENT="unix:///a"
    )
    unnamed = trainer(node.folder / "b", RANK="5", **RANK)
    for process in (named, unnamed):
        say(process)

    def seen():
        node.turn(follower)
        return {one.pid for launched in node.launched for one in launched.processes}

    assert unnamed.pid in until(lambda: unnamed.pid in (pids := seen()) and pids)
    assert named.pid not in seen()


def test_a_ranks_own_process_is_below_its_shell_and_above_its_workers(tmp_path):
    environ = "RANK=3\0LOCAL_RANK=1\0WORLD_SIZE=4\0RANKSCOPE_JOB_ID=job\0"
    for pid, parent, name in ((10, 1, "bash"), (11, 10, "python"), (12, 11, "pt_worker")):
        folder = tmp_path / str(pid)
        folder.mkdir()
        numbers = " ".join(["0"] * 40)
        (folder / "stat").write_text(f"{pid} ({name}) S {parent} {numbers}\n")
        (folder / "comm").write_text(f"{name}\n")
        (folder / "environ").write_text(environ)
    sources = LogSources(processes=RankProcesses(tmp_path))
    sources.find(0.0)
    assert [(11, 3)] == [(one.pid, one.rank) for one in sources.launched()]


def test_a_process_without_a_rank_is_not_followed(node, trainer):
    trainer(node.folder / "out", RANKSCOPE_JOB_ID="own")
    follower = node.start(follow=True)
    for _ in range(3):
        node.turn(follower)
    assert all(one.source.job != "own" for one in follower._files.values())


def test_a_line_of_nccl_in_a_log_of_several_ranks_is_that_of_the_process_it_names(node, tmp_path):
    proc, path = tmp_path / "proc", node.folder / "all.out"
    path.touch()
    for rank in range(2):
        folder = proc / str(900 + rank)
        (folder / "fd").mkdir(parents=True)
        (folder / "fdinfo").mkdir()
        (folder / "stat").write_text(f"{900 + rank} (python) S 1 {' '.join(['0'] * 40)}\n")
        (folder / "status").write_text(f"Name:\tpython\nNSpid:\t{900 + rank}\t{7 + rank}\n")
        (folder / "environ").write_text(
            f"RANK={rank}\0LOCAL_RANK={rank}\0WORLD_SIZE=2\0RANKSCOPE_JOB_ID=job\0"
        )
        (folder / "fd" / "1").symlink_to(path)
        (folder / "fdinfo" / "1").write_text("flags:\t0100001\n")
    follower = node.start(files=[], follow=True, proc=proc)
    node.turn(follower)
    append(path, *(
        f"node-a:{pid}:99 [0] NCCL INFO ncclCommInitRank comm 0x7f0 rank {rank} nranks 2 cudaDev 0 "
        f"nvmlDev 0 busId {rank + 1}b000 commId 0xabc - Init COMPLETE\n"
        for rank, pid in ((0, 7), (1, 8), (1, 9999))
    ))  # fmt: skip
    events = [event for batch in node.turn(follower) for event in batch.events]
    assert [(0, 7), (1, 8)] == [
        (event.attributes.get("rank"), event.attributes["pid"]) for event in events[:2]
    ]
    assert all("rank" not in event.attributes for event in events[2:])
