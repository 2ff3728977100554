"""Which of the simulator's faults a fault id stands for."""

import pytest

from rankscope.lab import catalogue


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("gpu.thermal_throttle", "thermal_throttle"),  # a rack's cooling is of this id too
        ("gpu.slow", "slow_gpu"),
        ("rack_cooling", "rack_cooling"),
    ],
)
def test_of_several_kinds_an_id_stands_for_the_one_that_is_called_like_it(name, kind):
    assert kind == catalogue.simulated(name)


def test_a_fault_that_there_is_not_is_refused_with_the_nearest_one():
    with pytest.raises(catalogue.FaultError, match=r"gpu\.thermal_throttle"):
        catalogue.simulated("gpu.thermal_throtle")
