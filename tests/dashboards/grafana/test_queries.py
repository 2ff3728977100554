"""What queries say of devices is what the vocabulary says."""

from rankscope.dashboards.grafana.queries import HELD_DOWN
from rankscope.vocabulary import device_faults


def test_clocks_are_held_down_by_every_reason_that_is_no_part_of_ordinary_life():
    graded = {one.reason for one in device_faults.clock_reasons() if one.grade != "normal"}
    assert graded == set(HELD_DOWN.removeprefix('reason=~"').removesuffix('"').split("|"))
