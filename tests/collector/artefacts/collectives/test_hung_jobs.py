"""Real jobs that hung until gloo ended them, explained by what they left and nothing else.

tests/fixtures/hung_jobs holds what `python -m bench.soak.artefacts` kept of four ranks
under torchrun with torch 2.13, paths made neutral; rank 2 has the fault. The dumps are torch's own
bytes.
"""

import shutil
from datetime import UTC
from pathlib import Path

import pytest

JOBS = Path(__file__).parents[3] / "fixtures" / "hung_jobs"
CULPRIT = 2
DUMPS, LAUNCHER = "dumps", "torchrun.log"

STUCK, CRASH = "software.stuck_process", "software.crash"
MISMATCH, UNKNOWN = "software.collective_mismatch", "unknown"

CAUSES = {
    "skipped-collective": (STUCK, STUCK, STUCK),
    "skipped-then-waits": (MISMATCH, UNKNOWN, UNKNOWN),
    "stop-signal": (STUCK, STUCK, STUCK),
    "gil-hold": (STUCK, STUCK, STUCK),
    "loader-hang": (STUCK, STUCK, STUCK),
    "other-size": (MISMATCH, MISMATCH, MISMATCH),
    "early-exit": (CRASH, CRASH, UNKNOWN),
}
"""The first cause by all leftovers, without dumps, and by the logs of the ranks alone.

Without its dump a rank that waits in a barrier looks as those that wait in the all-reduce; and when
a rank is gone and torchrun ended another one before it logged that, logs say nothing of either.
"""
LEFT = ((), (DUMPS,), (DUMPS, LAUNCHER))


@pytest.fixture
def left(tmp_path):
    """Return a function that copies what a job left, parts of it hidden; copies are of today."""

    def copy(job, hidden):
        into = tmp_path / job
        shutil.copytree(JOBS / job, into, ignore=shutil.ignore_patterns(*hidden),
                        copy_function=shutil.copyfile)  # fmt: skip
        return into

    return copy


def test_every_job_is_explained():
    assert set(CAUSES) == {folder.name for folder in JOBS.iterdir() if folder.is_dir()}


@pytest.mark.parametrize("hidden", LEFT, ids=["all", "no dumps", "logs of ranks"])
@pytest.mark.parametrize("job", CAUSES)
def test_a_hang_is_explained_by_its_leftovers_alone(explain, left, job, hidden):
    """The culprit stands first, or nobody is accused."""
    document = explain(left(job, hidden), zone=UTC).document()
    first = document["root_cause"]["hypotheses"][0]
    cause = CAUSES[job][LEFT.index(hidden)]
    assert cause == first["fault"]
    if cause == UNKNOWN:
        named = [rank for symptom in document["symptoms"] for rank in symptom["ranks"]]
        assert CULPRIT in named or not named
    else:
        assert [CULPRIT] == first["entity"]["ranks"]


def test_of_ranks_whose_logs_say_nothing_it_is_said_that_one_was_waited_for(explain, left):
    found = explain(left("early-exit", LEFT[2]), zone=UTC).found
    assert any(text.startswith("which of ranks 0, 2") for text in found.missing)


@pytest.mark.parametrize("hidden", LEFT, ids=["all", "no dumps", "logs of ranks"])
def test_what_every_rank_still_had_is_no_accusation(explain, left, hidden):
    """The log of a rank is lost: nothing is known of it, and the others waited for nobody known."""
    path = left("loader-hang", hidden)
    shutil.rmtree(path / "logs" / "attempt_0" / str(CULPRIT))
    document = explain(path, zone=UTC).document()
    accused = document["root_cause"]["hypotheses"][0]
    assert accused["fault"] == UNKNOWN or [CULPRIT] == accused["entity"]["ranks"]
