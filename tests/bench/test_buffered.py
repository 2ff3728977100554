"""A healthy job whose log is written in blocks is not called hung; one that hangs is, later."""

import pytest

from bench import buffered


@pytest.fixture(scope="module")
def rows():
    """Return a function that runs a case by its name for a few minutes."""
    cases = {case.name: case for case in buffered.CASES}
    return lambda name, minutes: buffered.run(cases[name], 60.0 * minutes)


@pytest.mark.parametrize(
    ("name", "minutes"),
    [
        ("Python's blocks of 8 KiB, steps of 0.5 s", 6),
        ("every two minutes, lines with times, as TensorBoard", 6),
        ("every minute, evaluations of 90 s", 8),
        ("less and less often, by a half each time", 8),
    ],
)
def test_steps_in_blocks_are_no_hang_and_their_end_is_one(rows, name, minutes):
    row = rows(name, minutes)
    assert 0 == row["above_info"]
    assert row["first_word"] is not None


def test_a_block_is_written_when_it_is_full():
    case = next(case for case in buffered.CASES if case.block and not case.stamped)
    texts = [text for _, text, _ in buffered._written(case, 600.0)]
    assert {buffered.PYTHONS_BLOCK} == {len(text) for text in texts}
