"""torchrun as /proc shows it: its options, whichever way they are written."""

import pytest

from rankscope.agent.requests import launchers


@pytest.fixture
def started(tmp_path):
    """Return what is found above a process that a command started."""

    def find(command, environ=""):
        for pid, parent, words in ((41, 40, "python train.py"), (40, 1, command)):
            (tmp_path / str(pid)).mkdir()
            (tmp_path / str(pid) / "stat").write_text(f"{pid} (python (3)) S {parent} 0 0")
            (tmp_path / str(pid) / "cmdline").write_text(words.replace(" ", "\0") + "\0")
            (tmp_path / str(pid) / "environ").write_text(environ)
        return launchers.of(41, proc=tmp_path)

    return find


@pytest.mark.parametrize(
    ("command", "environ", "restarts", "nodes"),
    [
        ("/usr/bin/python /opt/bin/torchrun --max-restarts=3 t.py", "", 3, ""),
        ("torchrun --max_restarts 2 --nnodes 1:4 t.py", "", 2, "1:4"),
        ("python3 -m torch.distributed.run --nnodes=2 t.py", "PET_MAX_RESTARTS=5\0", 5, "2"),
        ("torchrun t.py", "", 0, ""),
        ("torchrun --max-restarts", "", 0, ""),
    ],
)
def test_its_restarts_and_nodes_are_read(started, command, environ, restarts, nodes):
    found = started(command, environ)
    assert (40, restarts, nodes) == (found.pid, found.max_restarts, found.nodes)


@pytest.mark.parametrize("command", ["srun python t.py", "bash run_torchrun_job.sh", ""])
def test_another_parent_is_no_torchrun(started, command):
    assert started(command) is None


def test_a_process_that_is_gone_has_none(tmp_path):
    assert launchers.of(41, proc=tmp_path) is None
