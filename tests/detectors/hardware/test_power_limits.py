"""Devices whose power limit is below that of their peers of the same model."""

import pytest

from rankscope.detectors.hardware.power_limits import PowerLimitsDetector
from rankscope.detectors.sketch import START, sketch


@pytest.fixture
def found(steady):
    """Return a function that returns the findings on power limits of eight devices."""

    def evaluate(limit, **more):
        window = sketch(steady(ranks=8), rank_readings={"hw.power.limit": limit, **more})
        return PowerLimitsDetector().evaluate(window)

    return evaluate


def test_a_limit_lowered_in_the_midst_is_named_with_its_second(found, levels):
    (finding,) = found(levels(8, 700, 400, 5, since=30))
    assert ("GPU-5", START + 30) == (finding.entity.id, finding.onset[0])


@pytest.fixture
def alike(levels):
    """Return readings that say that all eight devices are of one model."""
    return {"hw.gpu.memory.limit": levels(8, 80 * 2.0**30)}


def test_a_limit_lower_on_all_devices_of_a_host_is_named_for_each(found, levels, alike):
    found_there = found(levels(8, 700, 400, [4, 5, 6, 7]), **alike)
    assert ["GPU-4", "GPU-5", "GPU-6", "GPU-7"] == [f.entity.id for f in found_there]


def test_a_limit_that_all_have_is_the_sites_choice(found, levels):
    assert [] == found(levels(8, 400))


def test_a_limit_that_most_have_is_not_low(found, levels, alike):
    assert [] == found(levels(8, 700, 400, [0, 1, 2, 3, 4]), **alike)


def test_where_nothing_tells_models_apart_another_host_may_have_another(found, levels):
    assert [] == found(levels(8, 700, 400, [4, 5, 6, 7]))
    assert ["GPU-6"] == [f.entity.id for f in found(levels(8, 700, 400, [6]))]


def test_another_model_has_another_limit(found, levels):
    memory = levels(8, 80 * 2.0**30, 40 * 2.0**30, [4, 5, 6, 7])
    limit = levels(8, 700, 400, [4, 5, 6, 7])
    assert [] == found(limit, **{"hw.gpu.memory.limit": memory})


def test_a_limit_a_little_lower_is_normal_life(found, levels):
    assert [] == found(levels(8, 700, 690, 5))
