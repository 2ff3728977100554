"""Files that are followed: from where, whose, over rotation, restarts and floods."""

import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from rankscope.agent.health import Health
from rankscope.agent.rank_processes import RankProcesses
from rankscope.agent.settings import LogFiles
from rankscope.agent.training_logs import Batch, Follower, Launched, Sources
from rankscope.agent.training_logs.positions import Positions

AT = 1_787_000_000.0
FAULT = "OSError: [Errno 28] No space left on device: '/ckpt'\n"


def line(step, loss=2.5):
    return f"iter {step}: loss {loss}, time 100.00ms\n"


@dataclass
class Node:
    """A folder of logs, named by the settings, and a follower of it whose time is the test's."""

    folder: Path
    state: Path
    now: float = AT
    used: float = 0.0
    cost: float = 0.0
    batches: list[Batch] = field(default_factory=list)
    launched: list[Launched] = field(default_factory=list)
    health: Health = field(default_factory=Health)

    def start(self, *, files=None, follow=False, share=0.04, proc=Path("/proc")):
        named = files or [LogFiles(path=f"{self.folder}/*.log", job="job-1", world_size=4)]
        return Follower(
            sources=Sources(processes=RankProcesses(proc) if follow else None, named=named),
            positions=Positions(self.state),
            health=self.health,
            deliver=self.deliver,
            share=share,
            cpu=self.cpu,
        )

    def deliver(self, one):
        (self.batches if isinstance(one, Batch) else self.launched).append(one)

    def cpu(self):
        self.used += self.cost
        return self.used

    def turn(self, follower, seconds=6.0):
        self.now += seconds
        follower.turn(self.now)
        found, self.batches[:] = list(self.batches), []
        return found

    def steps(self, follower, seconds=6.0):
        return [
            (int(sample.value), dict(sample.attributes)["rank"])
            for batch in self.turn(follower, seconds)
            for sample in batch.samples
            if sample.metric == "training.step"
        ]


@pytest.fixture
def node(tmp_path):
    (tmp_path / "logs").mkdir()
    (tmp_path / "state").mkdir()
    return Node(tmp_path / "logs", tmp_path / "state")


def append(path, *lines):
    with path.open("a") as file:
        file.write("".join(lines))


def test_what_was_there_at_the_first_look_is_past_and_what_comes_is_read(node):
    path = node.folder / "train.log"
    append(path, line(1), "iter 2: loss 9")
    follower = node.start()
    assert node.steps(follower) == []
    append(path, "9.5, time 1.00ms\n", line(3))
    assert node.steps(follower) == [(3, 0)]


def test_a_file_that_appears_is_read_from_its_beginning(node):
    follower = node.start()
    node.turn(follower)
    append(node.folder / "new.log", line(1), line(2))
    assert node.steps(follower) == [(1, 0), (2, 0)]


def test_the_rank_in_a_name_is_whose_log_it_is(node):
    follower = node.start()
    node.turn(follower)
    append(node.folder / "out.rank3.log", line(1))
    append(node.folder / "rank_02-stdout.log", line(1))
    assert sorted(rank for _, rank in node.steps(follower)) == [2, 3]


def test_samples_and_events_leave_with_the_job_and_times_of_reading(node):
    follower = node.start()
    node.turn(follower)
    append(node.folder / "rank1.log", line(1), FAULT)
    (batch,) = node.turn(follower)
    assert (batch.job, batch.attempt) == ("job-1", None)
    # The line is the first of two that were written in the last second.
    assert all(node.now - 1 < sample.at < node.now for sample in batch.samples)
    (event,) = batch.events
    assert (event.name, event.at, event.attributes["rank"]) == ("log.fault", node.now, 1)


def test_a_file_that_was_cut_is_read_from_its_beginning(node):
    path = node.folder / "train.log"
    follower = node.start()
    node.turn(follower)
    append(path, line(1), line(2))
    node.turn(follower)
    os.truncate(path, 0)
    append(path, line(3))
    assert node.steps(follower) == [(3, 0)]


def test_a_file_that_was_renamed_is_read_to_its_end_and_its_successor_from_its_beginning(node):
    path = node.folder / "train.log"
    follower = node.start()
    node.turn(follower)
    append(path, line(1))
    node.turn(follower)
    path.rename(node.folder / "train.log.1")
    append(node.folder / "train.log.1", line(2))
    append(path, line(3))
    assert sorted(node.steps(follower)) == [(2, 0), (3, 0)]


def test_a_restart_of_the_agent_neither_repeats_nor_loses_a_line(node):
    path = node.folder / "train.log"
    follower = node.start()
    node.turn(follower)
    append(path, line(1))
    assert node.steps(follower) == [(1, 0)]
    follower.close(node.now)
    append(path, line(2))
    again = node.start()
    assert node.steps(again) == [(2, 0)]
    assert node.steps(again) == []


def test_another_file_with_the_number_of_one_that_is_gone_is_read_from_its_beginning(node):
    path = node.folder / "train.log"
    follower = node.start()
    node.turn(follower)
    append(path, line(1), line(2))
    node.turn(follower)
    follower.close(node.now)
    with path.open("r+") as file:  # the same inode, and other bytes
        file.write(line(7) + line(8) + line(9))
    assert node.steps(node.start()) == [(7, 0), (8, 0), (9, 0)]


def test_a_torn_state_of_the_agent_costs_the_positions_only(node):
    (node.state / "training_logs.json").write_text("{")
    assert node.steps(node.start()) == []


def test_a_fault_that_is_repeated_leaves_once_and_then_as_a_count(node):
    path = node.folder / "rank0.log"
    follower = node.start()
    node.turn(follower)
    append(path, FAULT * 1000)
    (batch,) = node.turn(follower)
    assert len(batch.events) == 1
    append(path, FAULT)
    node.turn(follower, 1.0)
    events = [event for batch in node.turn(follower, 120.0) for event in batch.events]
    assert [event.attributes["count"] for event in events] == [1000]


def test_a_job_that_logs_faster_than_may_be_read_is_sampled_and_it_is_counted(node):
    """Of much that waits the newest is read, whole lines only."""
    path = node.folder / "rank0.log"
    follower = node.start(share=0.01)
    node.turn(follower)
    append(path, "".join(f"{line(step)}{'x' * 500}\n" for step in range(40_000)))
    found = node.steps(follower)
    size = path.stat().st_size
    read, skipped = (node.health.counted(name) for name in ("log_bytes", "log_bytes_skipped"))
    assert read + skipped == size
    assert 0 < read < 4 << 20
    assert found[-1][0] == 39_999
    steps = [step for step, _ in found]
    assert steps == list(range(steps[0], 40_000))


def test_reading_stops_when_its_share_of_the_cpu_is_used_up(node):
    path = node.folder / "rank0.log"
    node.cost = 0.5  # seconds between two looks at the clock
    follower = node.start(share=0.05)
    node.turn(follower, 1.0)
    append(path, line(1))
    assert [node.steps(follower, 1.0) for _ in range(5)] == [[]] * 5
    node.cost = 0.0
    assert node.steps(follower, 100.0) == [(1, 0)]


def test_what_is_no_regular_file_is_not_opened(node):
    os.mkfifo(node.folder / "fifo.log")
    (node.folder / "folder.log").mkdir()
    (node.folder / "null.log").symlink_to("/dev/null")
    (node.folder / "gone.log").symlink_to(node.folder / "nowhere")
    follower = node.start()
    node.turn(follower)
    assert not follower._files


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
    sources = Sources(processes=RankProcesses(tmp_path))
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
