"""Jobs that stand still, where exporters' readings of devices are all that there is."""

import numpy as np
import pytest

from rankscope.detectors.liveness.standing_devices import StandingDevicesDetector
from rankscope.detectors.sketch import START, readings, sketch

AT = START + np.arange(0.0, 1800, 15)
STOPS = 80
"""The reading, of 20 minutes, from which on a hang shows."""


def scraped(*, ranks=8, after=(), activity="hw.gpu.tensor.activity", before=None, seconds=0):
    """Draw the devices of a job: working, then as `after` says."""
    at = AT[: len(AT) - seconds // 15]
    plain = {"hw.gpu.utilization": 0.99, "hw.power": 600.0, activity: 0.4}
    noise = 1 + 0.02 * np.sin(np.arange(len(at)) + np.arange(ranks)[:, None])
    values = {
        name: np.minimum(level * noise, 1.0 if level < 1 else np.inf)
        for name, level in (plain | (before or {})).items()
        if name
    }
    values["hw.gpu.utilization"][:] = 0.99
    for name, rows, level in after:
        values[name][rows, STOPS:] = level
    drawn = {name: readings(at, value) for name, value in values.items()}
    return sketch(np.zeros((ranks, 0)), now=float(at[-1]) + 10, rank_readings=drawn)


ALL, ODD, OTHERS = slice(None), 5, [0, 1, 2, 3, 4, 6, 7]
SPIN = [("hw.power", ALL, 130.0), ("hw.gpu.tensor.activity", ALL, 0.0)]
HANG = [*SPIN, ("hw.gpu.utilization", ODD, 0.0)]


def named(window):
    found = StandingDevicesDetector().evaluate(window)
    return [(finding.kind, str(finding.entity), finding.score) for finding in found]


def test_the_device_without_work_is_named_while_all_others_spin():
    assert named(scraped(after=HANG)) == [
        ("job.stalled", "job example", 1.5),
        ("rank.idle_process", "rank 5 on host-1", 1.0),
    ]


def test_a_hang_in_which_every_device_spins_names_none():
    assert named(scraped(after=SPIN)) == [("job.stalled", "job example", 1.0)]


def test_nothing_is_said_before_it_has_lasted_five_minutes():
    assert [] == named(scraped(after=HANG, seconds=330))


def test_traffic_over_nvlink_serves_where_no_activity_is_exported():
    link = "hw.gpu.nvlink.throughput"
    after = [("hw.gpu.utilization", ODD, 0.0), ("hw.power", ALL, 130.0), (link, ALL, 1e3)]
    window = scraped(after=after, activity=link, before={link: 2e10})
    assert len(named(window)) == 2


@pytest.mark.parametrize(
    "after",
    [
        [],
        [("hw.gpu.utilization", ALL, 0.0), ("hw.power", ALL, 75.0)],
        [("hw.power", ALL, 300.0), ("hw.gpu.tensor.activity", ALL, 0.2)],
        [*HANG, ("hw.gpu.utilization", 2, 0.0)],
        [("hw.power", OTHERS, 130.0), ("hw.gpu.tensor.activity", OTHERS, 0.0)],
        [("hw.power", ALL, 130.0), ("hw.gpu.utilization", ODD, 0.0)],
    ],
    ids=["busy", "idle", "evaluation", "two idle", "one works for the others", "busy links"],
)
def test_healthy_clusters_stay_quiet(after):
    assert [] == named(scraped(after=after))


def test_devices_that_always_were_like_that_are_quiet():
    """Inference at little power with one spare device, as long as anybody has looked."""
    window = scraped(before={"hw.power": 130.0, "hw.gpu.tensor.activity": 0.01})
    window.rank_readings["hw.gpu.utilization"].value[ODD] = 0.0
    assert [] == named(window)


def test_a_device_that_reports_no_more_is_for_others_to_explain():
    window = scraped(after=HANG)
    window.rank_readings["hw.gpu.utilization"].value[ODD, STOPS:] = np.nan
    assert [] == named(window)


def test_where_steps_are_reported_nothing_is_said():
    window = scraped(after=HANG)
    window.rank_readings["training.progress.age"] = readings(AT[:1], np.zeros((8, 1)))
    assert [] == named(window)


def pasted(busy, power=118.0, memory=6e10, *, tables=1, shown=None, limit=700.0):
    """Return findings by tables, five seconds apart, of eight devices; busy: [devices]."""
    at = START + 5.0 * np.arange(tables)
    level = {
        "hw.gpu.utilization": np.broadcast_to(np.array(busy), (tables, 8)).T,
        "hw.power": np.broadcast_to(np.array(power), (tables, 8)).T,
        "hw.power.limit": np.full((8, tables), limit),
        "hw.gpu.memory.usage": np.broadcast_to(np.array(memory), (tables, 8)).T,
    }
    drawn = {name: readings(at, value) for name, value in level.items()}
    window = sketch(np.zeros((8, 0)), now=float(at[-1]) + 1, rank_readings=drawn)
    detector = StandingDevicesDetector(shown=float(at[-1]) if shown is None else shown)
    return [(one.kind, str(one.entity), one.score) for one in detector.evaluate(window)]


ONE_IDLE = [1.0] * 5 + [0.0] + [1.0] * 2


def test_one_table_names_the_device_without_a_kernel_while_all_others_wait():
    assert pasted(ONE_IDLE) == [
        ("job.stalled", "job example", 2.0),
        ("rank.idle_process", "rank 5 on host-1", 2.0),
        ("rank.behind_enqueued", "rank 5 on host-1", 2.0),
    ]


@pytest.mark.parametrize(
    ("busy", "power", "memory"),
    [
        ([1.0] * 8, 118.0, 6e10),
        ([0.0] * 8, 80.0, 6e10),
        ([0.0, 0.0] + [1.0] * 6, 118.0, 6e10),
        (ONE_IDLE, 610.0, 6e10),
        (ONE_IDLE, 118.0, [6e10] * 5 + [4e6] + [6e10] * 2),
    ],
    ids=["all wait", "all rest", "two rest", "all others work", "one is free"],
)
def test_one_table_of_other_devices_says_nothing(busy, power, memory):
    assert [] == pasted(busy, power, memory)


def test_where_no_limit_is_shown_the_device_without_a_kernel_tells_what_little_power_is():
    waiting, working = [180.0] * 5 + [115.0] + [182.0] * 2, [410.0] * 5 + [115.0] + [395.0] * 2
    assert ["job.stalled", "rank.idle_process", "rank.behind_enqueued"] == [
        kind for kind, _, _ in pasted(ONE_IDLE, waiting, limit=np.nan)
    ]
    assert [] == pasted(ONE_IDLE, working, limit=np.nan)
    assert [] == pasted([1.0] * 8, waiting, limit=np.nan)


def test_before_the_last_table_nothing_is_said():
    assert [] == pasted(ONE_IDLE, shown=START + 60)


def test_a_device_that_works_in_another_table_is_not_stuck():
    two = np.array([ONE_IDLE, [1.0] * 8])
    assert [] == pasted(two, tables=2)
    assert 3 == len(pasted(np.array([ONE_IDLE] * 2), tables=2))
