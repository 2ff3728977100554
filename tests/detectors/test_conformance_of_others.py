"""What the conformance suite says is wrong with other people's detectors, one mistake at a time."""

import numpy as np
import pytest
from tests.detectors import others

from rankscope.detectors import conformance
from rankscope.detectors.conformance import drawn, evaluations, examples
from rankscope.detectors.conformance.turned import turned
from rankscope.detectors.sketch import sketch
from rankscope.detectors.window import GroupProgress


def test_a_good_one_has_nothing_wrong():
    assert [] == conformance.problems(others.Good())


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (others.Stateful, "it keeps state: its attributes changed in evaluate"),
        (others.Locked, "it keeps state that cannot be pickled: its attribute lock: cannot "),
        (others.Tuned, "its attributes are not its parameters, so settings cannot change them"),
        (others.Strange, "nobody describes the kind rank.unheard_of"),
        (others.Namesake, "its name stalls is taken"),
        (others.Hasty, "its cadence_seconds None is not a number"),
        (others.Past, "which is not later than now"),
        (others.Never, "next_due returned a NoneType, not seconds"),
        (others.Undocumented, "its docstring shows no example"),
        (others.Undocumented, "its docstring does not say where it fails"),
        (others.Boasting, "its docstring's example fails: `len(Boasting().evaluate(sketch("),
        (others.Boasting, "` printed 0, not 1"),
        (others.Misspelt, "`Mispelt().evaluate(None)` raised NameError: name 'Mispelt'"),
        (others.Crooked, "its docstring's example cannot be read"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_the_class_is_named(kind, words):
    assert any(text.startswith(words) or words in text for text in conformance.problems(kind()))


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (others.Raising, "evaluate raised ZeroDivisionError: division by zero (others.py, line "),
        (others.Printing, "evaluate prints, and may do nothing but answer"),
        (others.Warned, "evaluate warns: RuntimeWarning: all is empty"),
        (others.Writing, "evaluate writes into the window, which all detectors share: steps.at;"),
        (others.WritingFeatures, "which all detectors share: features.step_ends;"),
        (others.Forgetful, "evaluate returned a NoneType, not a list of findings"),
        (others.Yielding, "evaluate returned a generator, not a list of findings"),
        (others.Texts, "evaluate returned a list with a str in it, not a Finding"),
        (others.Random, "the same window gave other findings"),
        (others.ByRow, "ranks in another order were accused otherwise"),
        (others.Always, "it reports a symptom of a healthy job"),
        (others.NoNumber, "the score of job.slow is nan, which is not a finite number"),
        (others.Endless, "the onset of job.slow is -inf, -inf, which is not a finite number"),
        (others.Missing, "the magnitude of job.slow is None, which is not a finite number"),
        (others.Negative, "the score of job.slow is -1, below 0"),
        (others.Prophet, "the onset of job.slow is 100 s later than now"),
        (others.Backwards, "the onset of job.slow ends 20 s before it begins"),
        (others.Backwards, "the window of job.slow ends before it begins"),
        (others.Textless, "job.slow has no text"),
        (others.Signalless, "has the signal 'training.step.duraton', which no source reports"),
        (others.OtherKind, "it reported job.stalled, which is not among its kinds"),
        (others.OtherName, "job.slow is by the detector 'bad', not 'quiet'"),
        (others.OtherJob, "job.slow is about another job or attempt than the window's"),
        (others.AboutAHost, "job.slow is about a host, not job"),
    ],
)
def test_what_is_wrong_in_a_window_is_named_with_the_window(kind, words):
    (text,) = (text for text in conformance.problems(kind()) if words in text)
    assert "a job" in text or "healthy" in text


def test_a_score_that_is_no_number_is_not_taken_for_another_finding():
    assert not any("other findings" in text for text in conformance.problems(others.NoNumber()))


def test_one_mistake_in_every_window_is_one_line():
    found = conformance.problems(others.Negative())
    (line,) = (text for text in found if "below 0" in text)
    assert "(a healthy job, a job with a slow rank, a job that stopped and 13 others)" in line


def test_after_a_window_was_written_into_the_others_are_as_they_were():
    found = conformance.problems(others.Writing())
    assert not any("raised" in text or "other findings" in text for text in found)
    assert not np.all(drawn.windows()[drawn.HEALTHY].steps.at == 0)


def test_what_an_example_evaluates_is_kept_as_it_was_before():
    failed, windows = examples.run(others.Good)
    assert [] == failed
    (window,) = windows
    assert (4, 20) == window.steps.at.shape
    assert "features" not in vars(window)
    assert others.Good.evaluate.__qualname__ == "Good.evaluate"


def test_members_of_groups_keep_their_ranks_when_the_rows_are_turned():
    numbers = np.array([5.0, 6.0])
    group = GroupProgress("tp:0", "tp", np.array([0, 2]), numbers, numbers, numbers, numbers)
    window = sketch(np.full((4, 20), 0.8), groups=(group,))
    other = turned(window)
    assert [3, 2, 1, 0] == other.ranks.tolist()
    assert [0, 2] == other.ranks[other.groups[0].rows].tolist()


def test_an_onset_by_the_clock_of_a_later_event_is_not_in_the_future(event):
    window = sketch(np.full((4, 20), 0.8), events=[event("process.exit", 1000.0)])
    window = sketch(np.full((4, 20), 0.8), events=window.events, now=window.events[0].at - 100)
    done = evaluations.evaluated(others.Prophet(), window)
    assert not any("later than now" in text for text in done.problems)


def test_own_kinds_that_are_no_kinds_are_all_that_is_said():
    (line,) = conformance.problems(others.NamingKinds())
    assert "its finding_kinds holds 'rank.of_mine', a str: list a FindingKind" in line
