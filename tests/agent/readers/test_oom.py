import pytest

from rankscope.agent.health import AgentHealth
from rankscope.agent.readers.oom import OomKills
from rankscope.agent.trainers import TrainerProcess
from rankscope.vocabulary.samples import Event

MOUNT = "35 24 0:30 / {root} rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
EXITING = 0x4


class Host:
    """A host with trainers in cgroups, and a kernel that kills."""

    def __init__(self, proc, make_trainer, root):
        self._proc, self._make_trainer, self._root = proc, make_trainer, root
        self.proc = proc(self__mountinfo=MOUNT.format(root=root), vmstat="nr_free 9\noom_kill 3\n")
        self.trainers: list[TrainerProcess] = []
        self.events: list[Event] = []
        self.health = AgentHealth()
        self.reader = OomKills(
            trainers=lambda: list(self.trainers),
            emit=self.events.append,
            health=self.health,
            proc=self.proc,
        )
        self.at = 100.0

    def train(self, pid, *, rank=0, cgroup="/pod"):
        self.trainers.append(self._make_trainer(pid, rank=rank))
        self._proc(**{f"{pid}__cgroup": f"0::{cgroup}\n"})
        self.stat(pid)

    def stat(self, pid, *, state="S", flags=0):
        rest = f"{state} 1 1 1 0 -1 {flags} " + "0 " * 43
        self._proc(**{f"{pid}__stat": f"{pid} (python) {rest}\n"})

    def killed(self, cgroup, number):
        path = self._root / cgroup[1:] / "memory.events"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"low 0\nhigh 0\nmax 9\noom 9\noom_kill {number}\n")

    def killed_in_all(self, number):
        self._proc(vmstat=f"nr_free 9\noom_kill {number}\nzone 1\n")

    def leave(self, pid):
        (self.proc / str(pid) / "stat").unlink()
        self.trainers = [one for one in self.trainers if one.pid != pid]

    def look(self):
        self.at += 1.0
        self.reader.read(self.at)
        told = [
            {name: value for name, value in event.attributes.items() if name != "text"}
            for event in self.events
        ]
        self.events.clear()
        return told


@pytest.fixture
def host(proc, make_trainer, tmp_path):
    one = Host(proc, make_trainer, tmp_path / "cgroup")
    one.killed("/pod", 0)
    return one


def test_a_trainer_that_is_gone_when_its_cgroup_counts_a_kill_was_its_victim(host):
    host.train(100, rank=3)
    assert host.look() == []
    host.killed("/pod", 1)
    host.killed_in_all(4)
    host.leave(100)
    assert host.look() == [{"pid": 100, "rank": 3, "cgroup": "/pod"}]
    assert [host.look() for _ in range(3)] == [[], [], []]


@pytest.mark.parametrize("how", [{"state": "Z"}, {"state": "R", "flags": EXITING}])
def test_a_victim_that_is_still_going_is_one_already(host, how):
    host.train(100)
    host.look()
    host.killed("/pod", 1)
    host.killed_in_all(4)
    host.stat(100, **how)
    assert host.look() == [{"pid": 100, "rank": 0, "cgroup": "/pod"}]


def test_a_kill_without_a_victim_among_the_trainers_is_told_a_second_later(host):
    """A worker of the data loader, say."""
    host.train(100)
    host.look()
    host.killed("/pod", 2)
    host.killed_in_all(5)
    assert host.look() == []
    assert host.look() == [{"cgroup": "/pod", "count": 2}]
    assert host.look() == []


def test_a_victim_that_shows_a_second_later_is_named(host):
    host.train(100, rank=1)
    host.look()
    host.killed("/pod", 1)
    host.killed_in_all(4)
    assert host.look() == []
    host.leave(100)
    assert host.look() == [{"pid": 100, "rank": 1, "cgroup": "/pod"}]


def test_more_trainers_gone_than_killed_are_not_guessed_among(host):
    """One is killed, the job's launcher ends the others."""
    for pid in (100, 101):
        host.train(pid)
    host.look()
    host.killed("/pod", 1)
    host.killed_in_all(4)
    for pid in (100, 101):
        host.leave(pid)
    assert host.look() == []
    assert host.look() == [{"cgroup": "/pod"}]


def test_a_kill_elsewhere_on_the_host_accuses_no_trainer(host):
    host.train(100)
    host.look()
    host.killed_in_all(4)
    host.leave(100)
    assert host.look() == []
    assert host.look() == [{}]


def test_without_cgroups_the_trainer_that_is_gone_is_taken_for_the_victim(host):
    host.train(100, rank=2, cgroup="/not/there")
    host.look()
    host.killed_in_all(4)
    host.leave(100)
    assert host.look() == [{"pid": 100, "rank": 2}]


def test_a_trainer_that_ends_without_a_kill_is_no_victim_of_a_later_one(host):
    for pid in (100, 101):
        host.train(pid)
    host.look()
    host.leave(100)
    assert host.look() == []
    assert host.look() == []
    host.killed("/pod", 1)
    host.killed_in_all(4)
    host.leave(101)
    assert host.look() == [{"pid": 101, "rank": 0, "cgroup": "/pod"}]


def test_what_was_killed_before_the_agent_or_the_trainer_came_is_no_news(host):
    host.killed("/pod", 7)
    host.killed_in_all(50)
    host.train(100)
    assert host.look() == []
    assert host.look() == []


def test_while_the_kernel_log_is_read_its_words_come_first(host):
    host.train(100)
    host.look()
    host.health.show("source_up", 1, "kernel_log")
    host.killed("/pod", 1)
    host.killed_in_all(4)
    host.leave(100)
    assert [host.look() for _ in range(3)] == [[], [], []]
    host.health.show("source_up", 0, "kernel_log")
    host.killed_in_all(5)
    assert [host.look() for _ in range(2)] == [[], [{}]]


def test_the_count_of_the_host_is_told_each_time(host):
    (sample,) = host.reader.read(1.0)
    assert (sample.metric, sample.value) == ("system.oom_kills", 3)


def test_cgroup_version_1_is_understood(proc, make_trainer, tmp_path):
    mount = "36 24 0:31 / {root} rw - cgroup cgroup rw,memory\n"
    host = Host(proc, make_trainer, tmp_path / "v1")
    proc(self__mountinfo=mount.format(root=tmp_path / "v1"))
    host.reader = OomKills(
        trainers=lambda: host.trainers,
        emit=host.events.append,
        health=AgentHealth(),
        proc=host.proc,
    )
    control = tmp_path / "v1/pod/memory.oom_control"
    control.parent.mkdir(parents=True)
    control.write_text("oom_kill_disable 0\nunder_oom 0\noom_kill 0\n")
    host.train(100)
    proc(**{"100__cgroup": "5:cpu:/elsewhere\n4:memory:/pod\n"})
    host.look()
    control.write_text("oom_kill_disable 0\nunder_oom 0\noom_kill 1\n")
    host.leave(100)
    assert host.look() == [{"pid": 100, "rank": 0, "cgroup": "/pod"}]


def test_a_kernel_that_does_not_count_says_so(proc):
    reader = OomKills(
        trainers=list, emit=print, health=AgentHealth(), proc=proc(vmstat="nr_free 9\n")
    )
    supported, reason = reader.supported()
    assert (supported, "oom_kill" in reason) == (False, True)
