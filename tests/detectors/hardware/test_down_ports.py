"""Ports of the job's network that are down."""

import numpy as np
import pytest

from rankscope.detectors.hardware.down_ports import DownPortsDetector
from rankscope.detectors.sketch import START, readings, sketch
from rankscope.vocabulary.samples import GUESSED, Event, TelemetryResource

UP = "hw.network.up|mlx5_0|1"


@pytest.fixture
def found(steady):
    """Return a function that evaluates the ports of five hosts."""

    def evaluate(up=None, events=(), by_rank=None, now=None):
        window = sketch(
            steady(ranks=10),
            now=START + (now or 80),
            hosts=5,
            host_readings={UP: up} if up is not None else {},
            rank_readings=by_rank or {},
            events=tuple(events),
        )
        return DownPortsDetector().evaluate(window)

    return evaluate


def test_a_port_that_went_down_is_named_with_its_ranks(found, levels):
    (finding,) = found(levels(5, 1, 0, 2, since=40))
    assert ("host-2/mlx5_0:1", (4, 5)) == (finding.entity.id, tuple(finding.entity.ranks))
    assert (START + 35, START + 40) == finding.onset


def test_a_port_that_just_went_down_may_only_be_trained_anew(steady, levels):
    up = levels(5, 1, 0, 2, since=60)
    window = sketch(steady(ranks=10), hosts=5, now=START + 62, host_readings={UP: up})
    assert [] == DownPortsDetector().evaluate(window)
    assert START + 70 == DownPortsDetector().next_due(window)
    later = sketch(steady(ranks=10), hosts=5, now=START + 70, host_readings={UP: up})
    assert ["host-2/mlx5_0:1"] == [f.entity.id for f in DownPortsDetector().evaluate(later)]


def test_a_port_that_flapped_before_has_to_be_read_down_twice(steady):
    up = np.ones((5, 13))
    up[2, [4, 12]] = 0
    seen = readings(START + np.arange(0, 361, 30.0), up)
    own = steady(ranks=10, steps=400)
    windows = [sketch(own, hosts=5, now=START + at, host_readings={UP: seen}) for at in (375, 407)]
    assert [[], ["host-2/mlx5_0:1"]] == [
        [f.entity.id for f in DownPortsDetector().evaluate(window)] for window in windows
    ]
    assert START + 406 == DownPortsDetector().next_due(windows[0])


def test_a_port_that_came_up_again_is_not_down(found, levels):
    assert [] == found(levels(5, 1, 0, 2, since=20, until=40))


def test_a_port_that_only_one_host_never_had_up_is_down(found, levels):
    assert ["host-2/mlx5_0:1"] == [f.entity.id for f in found(levels(5, 1, 0, 2))]


def test_a_port_that_several_hosts_do_not_use_is_not_in_use(found, levels):
    assert [] == found(levels(5, 1, 0, [1, 2, 3]))
    assert [] == found(levels(5, 0))


def test_an_event_names_a_port_before_a_reading_does(found, event, levels):
    down = event("network.link", 61, host="host-2", device="mlx5_0", port="1", state="down",
                 reason="carrier", text="no carrier")  # fmt: skip
    (finding,) = found(levels(5, 1), [down])
    assert "nic host-2/mlx5_0:1 is down: no carrier" == finding.text
    assert START + 61 == finding.onset[0]


def test_an_event_that_a_later_reading_contradicts_is_over(found, event, levels):
    down = event("network.link", 31, host="host-2", device="mlx5_0", port="1", state="down")
    assert [] == found(levels(5, 1), [down])


def test_a_port_that_a_person_set_down_is_left_alone(found, event, levels):
    down = event("network.link", 40, host="host-2", device="mlx5_0", port="1", state="down",
                 reason="admin")  # fmt: skip
    assert [] == found(levels(5, 1, 0, 2, since=40), [down])


def test_an_up_after_a_reading_that_was_down_clears_it(found, event, levels):
    up = event("network.link", 63, host="host-2", device="mlx5_0", port="1", state="up")
    assert [] == found(levels(5, 1, 0, 2, since=40), [up])


def test_a_port_of_a_device_names_the_rank_of_the_device(found, levels):
    by_rank = {"hw.network.up|npu|0": levels(10, 1, 0, 7, since=40)}
    (finding,) = found(by_rank=by_rank)
    assert ("host-3/npu:0", (7,)) == (finding.entity.id, tuple(finding.entity.ranks))


def test_an_event_of_another_host_is_none_of_ours(found, event):
    assert [] == found(events=[event("network.link", 40, host="far", device="a", state="down")])


def test_a_port_through_which_peers_got_no_answer_counts_less_than_one_that_is_read_down(found):
    def scored(**more):
        pairs = {"device": "mlx5_0", "port": "1", "state": "down", "text": "retried", **more}
        resource = TelemetryResource("host-2", job="example")
        (finding,) = found(events=[Event("network.link", START + 40, pairs, resource)])
        return finding.score, finding.text

    down, unanswered = scored(), scored(reason="unanswered")
    guess = scored(reason="unanswered", **GUESSED)
    assert down[0] > unanswered[0] > guess[0]
    assert "nic host-2/mlx5_0:1 did not answer: retried" == unanswered[1] == guess[1]
