"""Real gloo jobs of torch: what their recorders hold when one rank does not come."""

import time

import pytest
from tests.collector.artefacts.running import leave_dumps


@pytest.fixture
def leftovers(tmp_path, written):
    """Return a function that runs a job of four ranks and returns the folder that it left."""

    def run(fault, culprit):
        leave_dumps(tmp_path, fault, culprit)
        written(tmp_path, time.time() + 60)
        return tmp_path

    return run


@pytest.mark.programs
@pytest.mark.parametrize(
    ("fault", "culprit", "cause"),
    [
        ("absent", 2, "software.stuck_process"),
        ("other-collective", 1, "software.collective_mismatch"),
    ],
)
def test_the_rank_that_the_others_wait_for_is_named_by_real_dumps(
    explain, leftovers, fault, culprit, cause
):
    first = explain(leftovers(fault, culprit)).document()["root_cause"]["hypotheses"][0]
    assert (cause, [culprit]) == (first["fault"], first["entity"]["ranks"])
