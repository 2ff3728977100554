"""Whom the agent takes for the user of a job."""

import pytest

from rankscope.agent.inbox import ReceivedDatagram
from rankscope.agent.users import ProcessUsers
from rankscope.vocabulary.datagram import ProbeDatagram

POD = "0::/kubepods.slice/kubepods-pod12345678_1234_1234_1234_123456789012.slice/x.scope\n"


@pytest.fixture
def sent(tmp_path):
    """Return a function that gives a datagram of a process of some owner, in a pod or not."""

    def send(named="", *, uid=1001, pod=False, pid=100):
        folder = tmp_path / "proc" / str(pid or 100)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "status").write_text(f"Name:\tpython\nUid:\t{uid}\t{uid}\t{uid}\t{uid}\n")
        (folder / "cgroup").write_text(POD if pod else "0::/user.slice/session-1.scope\n")
        return ReceivedDatagram(
            ProbeDatagram("job-1", 0, 0, 7, user=named), pid, "unix:" if pid else "udp:a"
        )

    return send


@pytest.fixture
def users(tmp_path):
    """Return a function that makes a finder with a policy; ann is user 1001."""
    passwords = tmp_path / "passwd"
    passwords.write_text("root:x:0:0::/root:/bin/sh\n#\nann:x:1001:1001::/home/ann:/bin/sh\n")

    def make(policy="owner"):
        return ProcessUsers(policy, proc=tmp_path / "proc", passwords=passwords)

    return make


def test_whom_the_job_names_comes_before_who_owns_the_process(users, sent):
    assert users().of(sent("nlp")) == "nlp"
    assert users().of(sent()) == "ann"


@pytest.mark.parametrize("more", [{"pod": True}, {"uid": 0}, {"uid": 1002}, {"pid": None}])
def test_an_owner_that_says_nothing_is_left_out(users, sent, more):
    """In a pod, user 0, without a name here, or of a process that is not seen."""
    assert users().of(sent(**more)) == ""
    assert users().of(sent("nlp", **more)) == "nlp"


@pytest.mark.parametrize("named", ["x" * 65, "a\x1b[2Jb", " "])
def test_a_name_that_is_none_is_left_out(users, sent, named):
    assert users().of(sent(named)) == "ann"
    assert users("named").of(sent(named)) == ""


def test_settings_may_leave_out_owners_or_everybody(users, sent):
    assert users("named").of(sent("nlp")) == "nlp"
    assert users("named").of(sent()) == ""
    assert users("none").of(sent("nlp")) == ""


def test_a_process_that_is_gone_and_a_missing_password_file_give_nobody(users, sent, tmp_path):
    gone = sent(pid=5)
    (tmp_path / "proc" / "5" / "cgroup").unlink()
    assert users().of(gone) == ""
    (tmp_path / "passwd").unlink()
    assert users().of(sent()) == ""
