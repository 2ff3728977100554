"""Whom the agent believes to be the rank that it says it is."""

import socket

import pytest

from rankscope.agent.inbox import ReceivedDatagram
from rankscope.agent.sender_checks import ENVIRONMENT, OWNER, SCHEDULER, UNSEEN, SenderChecks
from rankscope.vocabulary.datagram import ProbeDatagram

ANN, BOB = 1001, 1002
SESSION = "0::/user.slice/session-1.scope\n"
SLURM = "0::/system.slice/slurmstepd.scope/job_7/step_0/user/task_0\n"


class Node:
    """A node's processes, and what they say."""

    def __init__(self, proc):
        self.proc = proc
        self.checks = SenderChecks(proc)

    def runs(self, pid, *, uid=ANN, cgroup=SESSION, own_pid=None, started=1, **environ):
        folder = self.proc / str(pid)
        folder.mkdir(parents=True, exist_ok=True)
        fields = " ".join(["S", *18 * ["0"], str(started), *30 * ["0"]])
        (folder / "stat").write_text(f"{pid} (python) {fields}\n")
        pids = f"{pid}" if own_pid is None else f"{pid}\t{own_pid}"
        (folder / "status").write_text(f"Uid:\t{uid}\t{uid}\t{uid}\t{uid}\nNSpid:\t{pids}\n")
        (folder / "cgroup").write_text(cgroup)
        (folder / "environ").write_text("\0".join(f"{k}={v}" for k, v in environ.items()))

    def ends(self, pid):
        for file in (self.proc / str(pid)).iterdir():
            file.unlink()

    def doubt(self, job, rank=0, *, pid=100, says_pid=None, uid=None):
        sent = ProbeDatagram(job, None, rank, says_pid or pid or 100)
        return self.checks.doubt(ReceivedDatagram(sent, pid, "unix:", uid=uid))


@pytest.fixture
def node(tmp_path):
    return Node(tmp_path)


def launched(rank=0, job="run"):
    return {"RANKSCOPE_JOB_ID": job, "RANK": rank}


def test_who_was_started_as_it_says_is_believed(node):
    node.runs(100, **launched(3))
    assert "" == node.doubt("run", 3)
    assert "" == node.doubt("run", 3, uid=ANN)


def test_a_process_in_a_container_says_its_own_pid(node):
    node.runs(100, own_pid=7, **launched())
    assert "" == node.doubt("run", says_pid=7)
    assert ENVIRONMENT == node.doubt("run", says_pid=8)


@pytest.mark.parametrize(("job", "rank"), [("other", 3), ("run", 4)])
def test_another_job_or_rank_is_not(node, job, rank):
    node.runs(100, **launched(3))
    assert ENVIRONMENT == node.doubt(job, rank)


def test_a_job_that_says_no_rank_may_name_its_own(node):
    """Ranks that torch's process group gives stand in no environment."""
    node.runs(100, RANKSCOPE_JOB_ID="run")
    assert "" == node.doubt("run", 5)


def test_a_process_alone_is_named_by_its_host_and_pid(node):
    node.runs(100, own_pid=7, PATH="/bin")
    assert "" == node.doubt(f"{socket.gethostname()}-7", says_pid=7)
    assert "" == node.doubt("name-of-its-container-7", says_pid=7)
    assert ENVIRONMENT == node.doubt("run", says_pid=7)


@pytest.mark.parametrize("pid", [None, 101])
def test_what_is_not_seen_is_not_believed(node, pid):
    """Over UDP, of another pid namespace, or gone."""
    assert UNSEEN == node.doubt("run", pid=pid, uid=ANN)


def test_an_environment_that_may_not_be_read_is_none(node):
    node.runs(100)
    assert UNSEEN == node.doubt("run")


def test_another_user_does_not_join_a_job_by_its_name(node):
    node.runs(100, **launched(0))
    node.runs(101, **launched(1))
    node.runs(102, uid=BOB, **launched(2))
    said = [node.doubt("run", rank, pid=100 + rank) for rank in range(3)]
    assert ["", "", OWNER] == said


def test_who_sends_is_the_user_whom_the_socket_names(node):
    node.runs(100, **launched(0))
    node.runs(101, **launched(1))
    assert ["", OWNER] == [node.doubt("run", 0), node.doubt("run", 1, pid=101, uid=BOB)]


def test_a_name_is_free_again_once_its_process_has_ended(node):
    node.runs(100, **launched())
    assert "" == node.doubt("run")
    node.ends(100)
    node.runs(102, uid=BOB, **launched())
    assert "" == node.doubt("run", pid=102)


def test_slurm_says_which_job_a_process_is_of_whatever_can_be_read(node):
    node.runs(100, cgroup=SLURM)
    assert ["", SCHEDULER] == [node.doubt("7", 3), node.doubt("8", 3)]


@pytest.mark.parametrize("given", [{"SLURM_JOB_ID": "8"}, {"RANKSCOPE_JOB_ID": "8"}])
def test_an_environment_does_not_take_a_process_into_another_slurm_job(node, given):
    node.runs(100, cgroup=SLURM, RANK=0, **given)
    assert SCHEDULER == node.doubt("8")


def test_a_name_of_ones_own_is_no_other_slurm_job(node):
    node.runs(100, cgroup=SLURM, SLURM_JOB_ID=7, **launched())
    assert "" == node.doubt("run")
