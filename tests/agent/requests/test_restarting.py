"""Restarts that are ordered: which processes an agent ends, and which it leaves alone."""

import signal
import subprocess

import pytest

from rankscope.agent import procfs
from rankscope.agent.requests.restarting import RestartService
from rankscope.agent.settings import RestartingSettings
from rankscope.agent.trainers import TrainerProcess

BOOTED = 1_700_000_000
STARTED = BOOTED + 100.0
ORDER = {"id": "a1", "job": "run-1", "what": "restart", "at": STARTED + 500.0}
ELASTIC = "torchrun --nnodes=1:2 --max-restarts=3 train.py"


class OrderedCollector:
    """Orders what a test puts in at every question, and notes the answers."""

    def __init__(self, *asked: object) -> None:
        self.asked = asked
        self.answers: list[tuple[str, bool, str]] = []

    def launcher_orders(self, host: str) -> list[object]:
        assert "host-a" == host
        return list(self.asked)

    def launcher_answer(self, host: str, action: str, *, done: bool, text: str) -> None:
        assert "host-a" == host
        self.answers.append((action, done, text))


@pytest.fixture
def process(tmp_path):
    """Return a function that starts a process which /proc shows as the child of a launcher."""
    (tmp_path / "stat").write_text(f"cpu 0\nbtime {BOOTED}\n")
    running = []

    def start(launcher_pid=1, *, launcher="", started=STARTED):
        one = subprocess.Popen(["sleep", "600"])
        running.append(one)
        ticks = int((started - BOOTED) * procfs.TICKS)
        fields = ["S", str(launcher_pid), *["0"] * 17, str(ticks)]
        for pid, words in ((one.pid, "python"), (launcher_pid, launcher)):
            if words:
                (tmp_path / str(pid)).mkdir(exist_ok=True)
                (tmp_path / str(pid) / "cmdline").write_text(words.replace(" ", "\0"))
                (tmp_path / str(pid) / "environ").write_text("")
        (tmp_path / str(one.pid) / "stat").write_text(f"{one.pid} (python) {' '.join(fields)}")
        return one

    yield start
    for one in running:
        one.kill()
        one.wait()


@pytest.fixture
def service(tmp_path):
    def make(collector, *ranks, **settings):
        return RestartService(
            RestartingSettings(allowed=True, **settings),
            host="host-a",
            collector=collector,
            trainers=lambda: ranks,
            proc=tmp_path,
        )

    return make


def rank(number, process, *, started=STARTED, job="run-1", doubt=""):
    return TrainerProcess(
        key=("", process.pid), job=job, attempt=0, rank=number, pid=process.pid,
        container_pid=None, last_received=0.0, started_at=started, doubt=doubt,
    )  # fmt: skip


def test_ranks_of_torchrun_are_killed_and_the_answer_names_them(service, process):
    launcher = process()
    first = process(launcher.pid, launcher=ELASTIC)
    second = process(launcher.pid)
    collector = OrderedCollector(ORDER)
    service(collector, rank(0, first), rank(1, second)).step()
    assert [-signal.SIGKILL] * 2 == [first.wait(20), second.wait(20)]
    assert launcher.poll() is None, "it starts them anew"
    assert [("a1", True, "ended ranks 0, 1")] == collector.answers


def test_an_order_that_is_told_again_is_answered_as_before_and_does_nothing(service, process):
    launcher = process()
    first = process(launcher.pid, launcher=ELASTIC)
    collector = OrderedCollector(ORDER)
    made = service(collector, rank(0, first))
    made.step()
    made.step()
    assert [("a1", True, "ended ranks 0")] * 2 == collector.answers


def test_what_started_after_the_order_is_left_alone(service, process):
    """By whoever told: an agent that was started anew remembers nothing."""
    launcher = process()
    late = STARTED + 600.0
    anew = process(launcher.pid, launcher=ELASTIC, started=late)
    collector = OrderedCollector(ORDER)
    service(collector, rank(0, anew, started=late)).step()
    assert anew.poll() is None
    assert [("a1", True, "no rank of before the order runs here")] == collector.answers


@pytest.mark.parametrize(
    ("launcher", "more", "why"),
    [
        pytest.param("srun train", {}, "rank 0 was not started by torchrun", id="another launcher"),
        pytest.param("torchrun train.py", {}, "without --max-restarts", id="no restarts"),
        pytest.param(
            "torchrun --nnodes=2 --max-restarts=3 train.py", {"what": "leave"}, "MIN:MAX",
            id="a fixed number of nodes",
        ),
    ],
)  # fmt: skip
def test_ranks_that_nobody_would_start_anew_are_left_alone(service, process, launcher, more, why):
    above = process()
    first = process(above.pid, launcher=launcher)
    collector = OrderedCollector({**ORDER, **more})
    service(collector, rank(0, first)).step()
    assert first.poll() is None
    ((_, done, text),) = collector.answers
    assert not done
    assert why in text


def test_a_host_that_is_left_out_loses_its_torchrun_first(service, process):
    launcher = process()
    first = process(launcher.pid, launcher=ELASTIC)
    collector = OrderedCollector({**ORDER, "what": "leave"})
    service(collector, rank(0, first)).step()
    assert [-signal.SIGKILL] * 2 == [launcher.wait(20), first.wait(20)]
    assert [("a1", True, "ended ranks 0 and their torchrun")] == collector.answers


def test_ranks_of_other_jobs_doubtful_ones_and_pids_of_others_are_left_alone(service, process):
    launcher = process()
    ranks = [process(launcher.pid, launcher=ELASTIC) for _ in range(3)]
    collector = OrderedCollector(ORDER)
    service(
        collector,
        rank(0, ranks[0], job="run-2"),
        rank(1, ranks[1], doubt="another user's"),
        rank(2, ranks[2], started=STARTED - 50.0),  # its pid is somebody else's by now
    ).step()
    assert [None] * 3 == [one.poll() for one in ranks]


def test_a_job_that_the_settings_leave_out_is_refused(service, process):
    launcher = process()
    first = process(launcher.pid, launcher=ELASTIC)
    collector = OrderedCollector(ORDER)
    service(collector, rank(0, first), jobs=("test-*",)).step()
    assert first.poll() is None
    assert [False] == [done for _, done, _ in collector.answers]


@pytest.mark.parametrize(
    "asked", [None, {}, {**ORDER, "what": "reboot"}, {**ORDER, "at": "now"}, {**ORDER, "id": ""}]
)
def test_an_order_that_is_none_is_passed_over(service, asked):
    collector = OrderedCollector(asked)
    service(collector).step()
    assert [] == collector.answers
