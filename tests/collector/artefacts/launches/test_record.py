"""How many ranks a job has, by what its launchers saw of the ends of its processes."""

from datetime import UTC

import pytest

from rankscope.collector.artefacts.launches.record import LaunchFile, LaunchRecord
from rankscope.collector.artefacts.walk import blocks

ASKED = "Sending process {} closing signal SIGTERM\n"
WRITTEN = 1778673600.0
"""When the logs were, in seconds since the epoch: their times have no year."""
FAILED = "failed (exitcode: 1) local_rank: {} (pid: {}) of binary: python\n"


@pytest.fixture
def size(tmp_path):
    """Return a function that counts the ranks of a job by its logs."""

    def of(*logs):
        record = LaunchRecord()
        for number, text in enumerate(logs):
            path = tmp_path / f"{number}.log"
            path.write_text(text)
            launched = LaunchFile(path.name, record.reports, UTC, WRITTEN)
            with path.open("rb") as opened:
                for block in blocks.blocks(opened):
                    launched.learn(block)
            launched.end()
        return record.size

    return of


def test_processes_that_torchrun_ended_are_counted_once_each(size):
    asked = ASKED.format(11) * 2 + ASKED.format(12)
    assert 3 == size(asked + FAILED.format(0, 10))


def test_a_second_start_of_the_same_ranks_does_not_make_them_more(size):
    first = ASKED.format(11) + ASKED.format(12) + FAILED.format(0, 10)
    second = ASKED.format(21) + FAILED.format(1, 20)
    assert 3 == size(first + second)


def test_a_start_that_another_node_ended_does_not_make_them_more(size):
    """Its launcher (torchrun of torch 2.13) asks its processes to end, and none of them failed."""
    first = "".join(
        f"W0513 12:00:00.{pid}000 7 api.py:9] {ASKED.format(pid)}" for pid in (101, 102)
    )
    second = "".join(
        f"W0513 12:00:09.{pid}000 7 api.py:9] {ASKED.format(pid)}" for pid in (201, 202)
    )
    assert 3 == size(first + second)
    assert 5 == size(first + "".join(map(ASKED.format, (201, 202)))), "no time parts them"


def test_the_processes_of_two_nodes_are_added(size):
    assert 5 == size(
        ASKED.format(11) + FAILED.format(0, 10), "".join(map(ASKED.format, (10, 11, 12)))
    )


def test_where_the_line_of_the_one_that_failed_is_missing_there_was_one_more(size):
    assert 3 == size(ASKED.format(11) + ASKED.format(12))
