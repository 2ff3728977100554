"""Ranks that are slower since their machine shows why, before steps alone could tell."""

import numpy as np
import pytest

from rankscope.detectors.sketch import START, readings, sketch
from rankscope.detectors.speed.slow_with_signs import SlowWithSignsDetector
from rankscope.detectors.speed.stragglers import StragglersDetector

ONSET = 90.0
WAIT = "process.cpu.wait"
HEAT = "hw.gpu.throttle|thermal_hw"


def job(steps=31, *, factor=1.06, slow=(0, 1), since=28, signs=(WAIT, (0, 1)), noise=0.02):
    """Return eight ranks on four hosts with steps of 3.2 s, and what machines show since ONSET."""
    own = np.random.default_rng(7).normal(3.0, 3.0 * noise, (8, steps))
    own[list(slow), since:] *= factor
    at = START + np.arange(0.0, 3.3 * steps, 5)
    metric, rows = signs
    value = np.full((8, len(at)), 0.05 if metric == WAIT else 0.0)
    value[np.ix_(rows, np.flatnonzero(at > START + ONSET))] = 3.0 if metric == WAIT else 1.0
    value = np.cumsum(value, axis=1) if metric == WAIT else value
    return sketch(own, hosts=4, rank_readings={metric: readings(at, value)})


def named(window):
    return sorted(
        int(found.entity.id)
        for found in SlowWithSignsDetector().evaluate(window)
        if found.kind == "rank.slow_compute"
    )


def test_two_steps_are_enough_for_a_host_that_shows_why():
    window = job(steps=31)
    assert [] == list(StragglersDetector().evaluate(window))
    assert [0, 1] == named(window)


@pytest.mark.parametrize(
    ("drawn", "warns"),
    [
        pytest.param({}, False, id="three steps"),
        pytest.param({"steps": 40}, True, id="twelve steps"),
        pytest.param({"steps": 40, "noise": 0.03}, False, id="twelve steps in more noise"),
        pytest.param({"steps": 34, "noise": 0.005}, False, id="six steps in hardly any"),
    ],
)
def test_it_is_information_until_it_is_certain(drawn, warns):
    scores = {f.kind: f.score for f in SlowWithSignsDetector().evaluate(job(**drawn))}
    assert warns == (scores["job.slow"] >= 1)


def test_a_throttled_device_is_named_alone():
    assert [3] == named(job(steps=36, factor=1.08, slow=(3,), signs=(HEAT, (3,))))


@pytest.mark.parametrize(
    "drawn",
    [
        pytest.param({"factor": 1.0}, id="a sign without an effect"),
        pytest.param({"slow": (4, 5)}, id="an effect elsewhere"),
        pytest.param({"factor": 1.06, "noise": 0.12}, id="an effect within the noise"),
        pytest.param({"slow": range(8)}, id="all ranks are slower"),
        pytest.param({"steps": 29}, id="one step"),
    ],
)
def test_neither_sign_nor_effect_alone_names_anybody(drawn):
    assert [] == named(job(**drawn))


def test_ranks_that_were_slow_before_the_sign_are_no_slower_by_it():
    assert [] == named(job(since=0))


DRIVER = "system.software.info|nvidia|"


def drifted(*, factor=1.2, slow=(0, 1), odd=0, hosts=4, noise=0.02):
    """Return two ranks a host; one host has another driver, and some ranks are always slower."""
    size = 2 * hosts
    own = np.random.default_rng(7).normal(3.0, 3.0 * noise, (size, 40))
    own[list(slow)] *= factor
    at = START + np.arange(0.0, 130, 30)
    new, old = np.full((hosts, len(at)), 1.0), np.full((hosts, len(at)), np.nan)
    new[odd], old[odd] = np.nan, 1.0
    return sketch(
        own,
        hosts=hosts,
        host_readings={f"{DRIVER}570": readings(at, new), f"{DRIVER}550": readings(at, old)},
    )


def test_a_host_unlike_its_peers_that_was_slower_from_the_first_step_on_is_named():
    window = drifted()
    assert [] == [f for f in StragglersDetector().evaluate(window) if f.kind == "rank.slow_compute"]
    assert [0, 1] == named(window)
    (slowed,) = (f for f in SlowWithSignsDetector().evaluate(window) if f.kind == "job.slow")
    assert slowed.score >= 1


@pytest.mark.parametrize(
    "drawn",
    [
        pytest.param({"factor": 1.0}, id="another version alone"),
        pytest.param({"factor": 1.06}, id="a skew as machines have it"),
        pytest.param({"slow": (2, 3)}, id="another host is slower"),
        pytest.param({"slow": (0, 1, 2, 3), "factor": 1.15}, id="half of the hosts are slower"),
        pytest.param({"hosts": 2}, id="of two hosts either may be the odd one"),
    ],
)
def test_neither_version_nor_skew_alone_names_a_host(drawn):
    assert [] == named(drifted(**drawn))
