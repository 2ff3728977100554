"""Logs of forms that nobody knows, whose epochs took long by their own times."""

import random

import pytest

from rankscope.collector.artefacts.logs import paces
from rankscope.formats.training_logs.paced import PacedRow


def rows(*seconds, first=1):
    return [PacedRow(n, first + n, took, f"epoch {first + n}") for n, took in enumerate(seconds)]


def noisy(count, usual, seed=3):
    draw = random.Random(seed)
    return [usual * draw.uniform(0.9, 1.15) for _ in range(count)]


def said(*seconds, first=1):
    found = paces.judged(rows(*seconds, first=first))
    return None if found is None else found.text


def test_one_epoch_of_hours_among_epochs_of_seconds_is_told():
    assert said(*noisy(9, 14.0), 53050.0, *noisy(3, 14.0)).startswith("10 took 53050 s where")


def test_epochs_that_stay_twice_as_long_are_told_since_the_first():
    text = said(*noisy(12, 100.0), *noisy(6, 260.0))
    assert "from 13 on" in text


def test_a_stretch_that_ends_is_told_with_its_end():
    assert "from 11 to 17" in said(*noisy(10, 100.0), *noisy(7, 300.0), *noisy(9, 100.0))


def test_a_slow_beginning_that_is_over_is_not_told():
    """What a cache holds is read once."""
    assert said(*noisy(7, 50.0), *noisy(6, 1.5)) is None


def test_epochs_that_take_longer_and_longer_are_told():
    assert "little by little" in said(*(100 * 1.12**n for n in range(1, 14)))


STAIRS = (*noisy(6, 1.0), *noisy(6, 1.3, 4), *noisy(6, 1.75, 5))


def test_epochs_that_take_longer_from_part_to_part_are_told():
    assert "at the end as at first" in said(*STAIRS)


@pytest.mark.parametrize("seconds", [
    (*noisy(6, 1.0), *noisy(6, 1.2, 4), *noisy(6, 1.35, 5)),  # by less than half
    (*STAIRS[:-1], 1.1),  # one that is as quick as at first
    (*noisy(6, 1.0), *noisy(6, 1.9, 4), *noisy(6, 1.6, 5)),  # longer in between
    STAIRS[:4] + STAIRS[6:10] + STAIRS[12:16],  # too few
])  # fmt: skip
def test_parts_that_differ_otherwise_are_not_told(seconds):
    assert said(*seconds) is None


CLIMB = (10.0, 11.5, 12.4, 13.0, 14.8, 15.9)


@pytest.mark.parametrize("before", [(), (10.8, 10.5), (40.0,)], ids=["none", "others", "compiles"])
def test_epochs_that_climb_by_half_and_stay_there_are_told(before):
    text = said(*before, *CLIMB, 15.6, 16.4, 15.1, 15.5, 15.8)
    assert f"1.6 times as long from {len(before) + 6} on" in text


@pytest.mark.parametrize("seconds", [
    (*CLIMB, 15.6, 16.4, 15.1, 15.5),  # too few behind
    (*CLIMB, 15.6, 16.4, 15.1, 11.5, 15.8),
    (9.9, 13.5, *CLIMB, 15.6, 16.4, 15.1, 15.5, 15.8),  # as long before
    (10.0, 10.9, 11.8, 12.6, 13.5, 14.4, 14.1, 14.6, 14.2, 14.3, 14.4),  # less than by half
    (*CLIMB[:3], 12.0, *CLIMB[4:], 15.6, 16.4, 15.1, 15.5, 15.8),  # by leaps
])  # fmt: skip
def test_a_climb_that_may_be_chance_is_not_told(seconds):
    assert said(*seconds) is None


@pytest.mark.parametrize(
    "seconds",
    [
        noisy(30, 14.0),
        [400.0, *noisy(12, 14.0)],
        [one * (3 if n % 5 == 4 else 1) for n, one in enumerate(noisy(30, 60.0))],
        [*noisy(12, 14.0), 80.0, *noisy(4, 14.0)],
        [*noisy(10, 14.0), *noisy(3, 40.0), *noisy(10, 14.0)],
        [*noisy(10, 14.0), *noisy(10, 19.0)],
        noisy(4, 10.0) + noisy(3, 100.0),
        [35.0, 0.6, 10.2, 10.3, 10.5, 10.6, 10.7, *noisy(12, 10.7)],
    ],
    ids=[
        "as ever",
        "the first",
        "each fifth evaluates",
        "a save",
        "a few",
        "a third",
        "hardly any",
        "a step that was only dispatched",
    ],
)
def test_what_healthy_jobs_do_is_not_told(seconds):
    assert said(*seconds) is None


def test_a_folder_with_such_a_log_has_an_incident_that_quotes_the_line(explain, tmp_path):
    took = [*noisy(9, 14.0), 53050.0, *noisy(3, 14.0)]
    text = "".join(f"Epoch {n} took {s:.1f}s\n" for n, s in enumerate(took, 1))
    (tmp_path / "train.log").write_text(text)
    diagnosis = explain(tmp_path)
    assert "unknown" == diagnosis.incident["root_cause"]["hypotheses"][0]["fault"]
    assert [(10, "root")] == [(quote.line, quote.role) for quote in diagnosis.found.quotes]


def test_a_line_that_speaks_of_a_fault_goes_before(explain, tmp_path):
    took = [*noisy(9, 14.0), 53050.0, *noisy(3, 14.0)]
    text = "".join(f"Epoch {n} took {s:.1f}s\n" for n, s in enumerate(took, 1))
    (tmp_path / "train.log").write_text(f"{text}OSError: [Errno 28] No space left on device\n")
    signatures = {quote.signature for quote in explain(tmp_path).found.quotes}
    assert not any("longer" in one for one in signatures)


def test_evaluations_that_take_next_to_nothing_beside_epochs_are_not_told():
    stamp = "12:{:02}:00.000 - epoch {:4} | "
    lines = [
        line
        for number, took in enumerate([*noisy(6, 0.5), *noisy(9, 1.6)], 1)
        for line in (
            f"{stamp.format(number, number)}avg utts/s 3900 | took {71 + number % 2}.50 s",
            f"{stamp.format(number, number)}wer 7.{number} | took {took:.2f} s",
        )
    ]
    assert paces.read(lines) is None
    assert paces.read(lines[1::2]) is not None, "where there is nothing else, they are all"


def test_a_moment_since_the_epoch_is_no_time_that_something_took():
    moments = [1778673601000 + 60_000 * number * number for number in range(20)]
    lines = [f'"time_ms": {moment}, "epoch_num": {number}' for number, moment in enumerate(moments)]
    assert paces.read(lines) is None
