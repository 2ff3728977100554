"""Training processes of a node are seen by what launchers leave in their environment."""

import os

import pytest

from rankscope.checks.jobs import TrainerWatch

TORCHRUN = {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "gpu-1"}


@pytest.fixture
def process(tmp_path):
    def make(pid, variables, name="python"):
        folder = tmp_path / str(pid)
        folder.mkdir()
        held = "\0".join(f"{key}={value}" for key, value in variables.items())
        (folder / "environ").write_text(held)
        (folder / "comm").write_text(f"{name}\n")
        (folder / "stat").write_text(f"{pid} ({name}) S 1 1 1")

    return make


def watch(root, *, own=frozenset()):
    return TrainerWatch(root=root, own=own)


def test_a_rank_of_torchrun_or_slurm_is_seen(tmp_path, process):
    process(7, {"PATH": "/bin"})
    process(8, TORCHRUN, name="train")
    found = watch(tmp_path).first()
    assert (8, "train") == (found.pid, found.name)


@pytest.mark.parametrize(
    "variables",
    [
        {"RANK": "0"},
        {"MASTER_ADDR": "gpu-1", "WORLD_SIZE": "2"},
        {**TORCHRUN, "RANKSCOPE_CHECK_PARENT": "4"},
        {},
    ],
)
def test_others_are_no_ranks(tmp_path, process, variables):
    process(8, variables)
    assert watch(tmp_path).first() is None


def test_a_job_that_starts_later_is_seen(tmp_path, process):
    looking = watch(tmp_path)
    process(8, {"PATH": "/bin"})
    assert looking.first() is None
    process(9, TORCHRUN)
    assert 9 == looking.first().pid


def test_the_prolog_that_asks_is_no_job(tmp_path, process):
    process(8, TORCHRUN)
    assert watch(tmp_path, own=frozenset({8})).first() is None


def test_those_above_this_process_are_its_own():
    assert os.getppid() in TrainerWatch()._own


def test_where_nothing_can_be_read_nothing_is_seen(tmp_path):
    assert watch(tmp_path / "none").first() is None


def test_every_rank_is_seen_with_its_number_and_where_its_job_meets(tmp_path, process):
    for pid, rank in ((41, "0"), (42, "1"), (43, "zero")):
        process(pid, {"RANK": rank, "WORLD_SIZE": "2", "MASTER_ADDR": "a", "MASTER_PORT": "9"})
    found = sorted(watch(tmp_path).everyone(), key=lambda row: row.pid)
    assert [(0, "a:9"), (1, "a:9"), (None, "a:9")] == [(row.rank, row.meets) for row in found]
