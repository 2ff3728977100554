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


def test_epochs_that_take_longer_and_longer_are_told():
    assert "little by little" in said(*(100 * 1.12**n for n in range(1, 14)))


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
    ],
    ids=[
        "as ever",
        "the first",
        "each fifth evaluates",
        "a save",
        "a few",
        "a third",
        "hardly any",
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
