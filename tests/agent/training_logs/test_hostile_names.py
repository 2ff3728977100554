"""Names that a tenant chose: links to files of others are not followed, odd names do no harm."""

import os

import pytest

from rankscope.agent.rank_processes import RankProcesses
from rankscope.agent.settings import LogFiles
from rankscope.agent.training_logs import LogSources

FOREIGN = "/etc/passwd"
"""A file of root's on every machine."""
STRANGER = 54_321
NOBODY: frozenset[int] = frozenset()


def linked(link, target):
    """Make a link as a tenant does who is not root."""
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(target)
    if os.geteuid() == 0:
        os.chown(link, STRANGER, STRANGER, follow_symlinks=False)


@pytest.fixture
def named(tmp_path):
    """Return a function that finds the logs of a folder in which no link is trusted."""

    def find(trusted=NOBODY):
        pattern = str(tmp_path / "**" / "*.log")
        files = LogFiles(path=pattern, job="job")
        sources = LogSources(processes=None, named=[files], trusted=trusted)
        return {os.path.basename(one.name) for one in sources.find(0.0).values()}, sources.refused  # noqa: PTH119

    return find


def test_a_tenants_link_to_a_file_of_somebody_else_is_not_followed_and_is_counted(named, tmp_path):
    linked(tmp_path / "rank0.log", FOREIGN)
    assert (set(), 1) == named()


def test_nor_is_one_in_a_folder_behind_a_link(named, tmp_path):
    linked(tmp_path / "logs", "/etc")
    linked(tmp_path / "deep" / "rank1.log", f"{tmp_path}/logs/passwd")
    assert (set(), 1) == named()


def test_a_link_of_who_owns_the_file_is_followed_and_one_of_the_agents_own_user(named, tmp_path):
    (tmp_path / "run.txt").touch()
    (tmp_path / "latest.log").symlink_to(tmp_path / "run.txt")
    assert ({"latest.log"}, 0) == named()
    linked(tmp_path / "passwd.log", FOREIGN)
    trusted = frozenset({STRANGER, os.geteuid()})
    assert ({"latest.log", "passwd.log"}, 0) == named(trusted)


def test_names_up_and_out_of_the_folder_odd_letters_and_long_ones_do_no_harm(named, tmp_path):
    long, odd = f"{'x' * 251}.log", "a\n\x1b[31m<b>.log"
    for name in (long, odd, "..log", "...log"):
        (tmp_path / name).touch()
    names, refused = named()
    assert {long, odd} <= names
    assert 0 == refused


def test_an_event_file_that_is_a_link_to_a_file_of_somebody_else_is_not_followed(tmp_path):
    work, process = tmp_path / "work", tmp_path / "proc" / "510"
    work.mkdir()
    process.mkdir(parents=True)
    (process / "stat").write_text(f"510 (python) S 1 {' '.join(['0'] * 40)}\n")
    (process / "environ").write_text("RANK=0\0LOCAL_RANK=0\0WORLD_SIZE=2\0RANKSCOPE_JOB_ID=job\0")
    (process / "status").write_text("Name:\tpython\nNSpid:\t510\t410\n")
    (process / "cwd").symlink_to(work)
    linked(work / "events.out.tfevents.1700000000.node.510.0", FOREIGN)
    linked(work / "runs", "/etc")
    sources = LogSources(processes=RankProcesses(tmp_path / "proc"), trusted=NOBODY)
    assert {} == sources.find(0.0)
    assert 1 == sources.refused
