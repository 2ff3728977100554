"""What a detector sees: steps, readings, places."""

import numpy as np
import pytest

from rankscope.detectors.sketch import START, readings, sketch
from rankscope.detectors.window import PeriodicReadings, StepValues
from rankscope.vocabulary import entities
from rankscope.vocabulary.samples import Event

NAN = np.nan


@pytest.fixture
def window(steady):
    return sketch(steady(), hosts=2, host_of=np.array([0, 0, 1, -1]), hw_ids=("a", None, "c", "d"))


def test_a_plane_that_nobody_reports_is_all_nan():
    steps = StepValues(
        np.arange(3), np.zeros((2, 3)), {"valid": np.ones((2, 3)), "empty": np.full((2, 3), NAN)}
    )
    assert steps.has("valid")
    assert not steps.has("empty")
    assert not steps.has("other")
    assert np.isnan(steps.plane("other")).all()
    assert (2, 3) == steps.plane("other").shape


@pytest.mark.parametrize(
    ("count", "left"), [(2, [8, 9]), (0, []), (-1, []), (3, [7, 8, 9]), (9, [7, 8, 9])]
)
def test_the_newest_steps_are_cut_off_in_every_plane(count, left):
    steps = StepValues(
        np.array([7, 8, 9]), np.arange(6.0).reshape(2, 3), {"p": np.arange(6.0).reshape(2, 3)}
    )
    last = steps.last(count)
    assert left == last.index.tolist()
    assert (2, len(left)) == last.at.shape == last.plane("p").shape


def test_the_latest_reading_is_the_newest_wherever_it_stands_in_the_ring():
    valid = PeriodicReadings(
        np.array([[30.0, 10.0, 20.0], [NAN, 5.0, NAN]]),
        np.array([[3.0, 1.0, 2.0], [NAN, 9.0, NAN]]),
    )
    value, at = valid.latest()
    assert ([3.0, 9.0], [30.0, 5.0]) == (value.tolist(), at.tolist())


def test_without_readings_the_latest_is_nan():
    value, at = PeriodicReadings(np.full((2, 0), NAN), np.full((2, 0), NAN)).latest()
    assert np.isnan(value).all()
    assert np.isnan(at).all()


def test_a_mean_takes_what_lies_after_the_start_up_to_the_end():
    valid = readings(np.array([10.0, 20.0, 30.0]), np.array([[1.0, 2.0, 6.0], [1.0, NAN, NAN]]))
    assert [4.0, NAN] == pytest.approx(valid.mean(10.0, 30.0).tolist(), nan_ok=True)


def test_a_rate_is_growth_over_the_time_between_the_readings_inside():
    valid = PeriodicReadings(np.array([[40.0, 10.0, 20.0]]), np.array([[9.0, 0.0, 2.0]]))
    assert [0.3] == valid.rate(10.0, 40.0).tolist()
    assert [0.2] == valid.rate(0.0, 30.0).tolist()


def test_a_counter_that_fell_began_again():
    valid = readings(np.array([10.0, 20.0, 30.0]), np.array([[100.0, 104.0, 6.0]]))
    assert [0.5] == valid.rate(0.0, 30.0).tolist()


def test_fewer_than_two_readings_have_no_rate():
    valid = readings(np.array([10.0, 20.0]), np.array([[1.0, 2.0]]))
    assert np.isnan(valid.rate(15.0, 30.0)).all()
    assert np.isnan(valid.rate(10.0, 10.0)).all()


def test_places_are_named_by_row(window):
    assert entities.rank(2, "host-1") == window.rank_entity(2)
    assert entities.rank(3) == window.rank_entity(3)
    assert entities.host("host-0", (0, 1)) == window.host_entity(0)
    assert entities.gpu("c", "host-1", (2,)) == window.gpu_entity(2)
    assert None is window.gpu_entity(1)
    assert entities.job("example", (0, 1, 2, 3)) == window.entity


def test_a_rank_has_a_row_or_none(window):
    assert (3, None) == (window.row_of(3), window.row_of(4))


def test_a_metric_that_nobody_reports_has_rows_without_readings(window, steady):
    assert (4, 0) == window.of_ranks("any").at.shape
    assert (2, 0) == window.of_hosts("any").at.shape
    valid = readings(START + np.arange(3.0), np.ones((2, 1)))
    assert valid is sketch(steady(), host_readings={"any": valid}).of_hosts("any")


def test_events_are_found_by_their_name_in_their_order(steady):
    rows = [Event(name, START + at, {}) for at, name in enumerate(("b", "a", "b"))]
    window = sketch(steady(), events=tuple(rows))
    assert [rows[0], rows[2]] == list(window.named("b"))
    assert not window.named("c")
