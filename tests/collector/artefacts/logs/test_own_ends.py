"""Logs of several runs in one folder, whose values have no times and whose errors have some."""

from datetime import UTC

import pytest

BAR = " {}/900 [====>.......] - ETA: 2:31 - loss: {:.4f} - acc: 0.7744\n"
FAILED = (
    "2026-02-{:02d} 12:32:46.833634: E stream_executor/cuda/cuda_driver.cc:1011] could not "
    "synchronize on CUDA context: CUDA_ERROR_LAUNCH_FAILED: unspecified launch failure ::\n"
)
KERAS = "".join(BAR.format(n, 2 - n / 100) for n in range(1, 9))


@pytest.fixture
def cause(explain, tmp_path):
    """Return a function that writes logs and returns the first cause, and when it began."""

    def explained(*logs):
        for number, text in enumerate(logs, 1):
            (tmp_path / f"run{number}.log").write_text(text)
        document = explain(tmp_path, zone=UTC).document()
        if document is None:
            return None
        return document["root_cause"]["hypotheses"][0]["fault"], document["opened_at"][:10]

    return explained


def test_the_values_of_a_run_do_not_follow_its_error_in_the_place_of_the_next_ones(cause):
    assert ("software.crash", "2026-02-21") == cause(
        KERAS + FAILED.format(19), KERAS + FAILED.format(21)
    )


def test_a_run_that_ended_well_leaves_the_error_of_another_one(cause):
    assert "software.crash" == cause(KERAS, KERAS + FAILED.format(21))[0]
