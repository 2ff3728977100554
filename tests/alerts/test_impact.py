"""GPU-seconds lost: by interval, no more than there were, and none after the end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankscope.alerts.impact import TimeClaims, cost

RANKS = 4


@pytest.fixture
def lost(tracker):
    def total():
        return sum(row.impact.gpu_seconds_lost for row in tracker.incidents.values())

    return total


def test_a_short_pause_beside_slowness_does_not_charge_all_time(evaluated, contended, stuck, lost):
    """12 s of pause within 600 s at 1.25 times the healthy step time."""
    for now in range(50, 640):
        pause = stuck(300.0, score=1.0)[:1] if 306 <= now < 312 else ()
        stepped = 300.0 if 300 <= now < 312 else now - 1.0
        evaluated(now, *contended(magnitude=1.25), *pause, stepped=stepped)
    evaluated(700)
    slow = 600 * 0.2
    assert lost() == pytest.approx(RANKS * (slow + 12 * 0.8), rel=0.03)


def test_two_roots_of_one_slowness_share_its_cost(evaluated, contended, lost):
    both = [*contended(magnitude=1.25), *contended(magnitude=1.25, host="host-a")[1:]]
    for now in range(41, 141):
        evaluated(now, *both)
    evaluated(172)
    assert lost() == pytest.approx(RANKS * 100 * 0.2, rel=0.03)


def test_the_time_of_a_restart_is_lost_until_its_first_step(evaluated, topology, found, lost):
    crash = [
        found("job.crashed", topology.job_entity, 55.0),
        found("rank.first_exit", topology.rank_entity(3), 55.0),
    ]
    for now in range(56, 60):
        evaluated(now, *crash, stepped=54.0)
    for now in range(60, 300):
        evaluated(now, attempt=1, stepped=now - 1.0 if now > 156 else float("-inf"))
    assert lost() == pytest.approx(RANKS * 100, rel=0.03)


def test_calm_costs_nothing(evaluated, contended, lost):
    """40 s slow, 40 s well, for 400 s, one incident."""
    for now in range(40, 440):
        bad = (now // 40) % 2 == 1
        evaluated(now, *(contended(now // 40 * 40, magnitude=2.0) if bad else ()))
    evaluated(1100)
    assert lost() == pytest.approx(RANKS * 5 * 40 * 0.5, rel=0.15)


def test_a_running_job_with_nan_is_not_stopped_and_all_its_time_is_lost(
    evaluated, topology, found, tracker, lost
):
    bad = (
        found("job.nonfinite", topology.job_entity, 40.0),
        found("rank.first_nonfinite", topology.rank_entity(1), 40.0),
    )
    for now in range(41, 101):
        evaluated(now, *bad)
    (incident,) = tracker.incidents.values()
    assert 1.0 == incident.impact.slowdown
    assert incident.impact.gpu_seconds_lost == pytest.approx(RANKS * 60, rel=0.6)


def test_a_host_that_sends_nothing_while_the_job_steps_on_costs_nothing(
    evaluated, topology, found, lost
):
    silent = found("host.silent", topology.host_entity("host-b"), 40.0)
    for now in range(50, 200):
        evaluated(now, silent)
    evaluated(240)
    assert lost() < RANKS * 5


def test_the_costliest_symptom_counts(found, topology):
    slow = found("job.slow", topology.job_entity, 40.0, magnitude=1.25)
    stalled = found("job.stalled", topology.job_entity, 60.0)
    assert 1.0 == cost([slow, stalled], 0.0).share
    assert cost([slow], 0.0).share == pytest.approx(0.2)


def test_an_incident_of_two_jobs_takes_its_part_of_each(evaluated, contended, lay_out, tracker):
    """What a job loses is not divided with the incidents of another one."""
    one, other = lay_out("run-1"), lay_out("run-2")
    for now in range(41, 141):
        evaluated(now, *contended(layout=one, magnitude=1.25), layout=one)
        evaluated(now, *contended(layout=other, magnitude=2.0), layout=other)
    evaluated(172, layout=one)
    evaluated(172, layout=other)
    (incident,) = tracker.incidents.values()
    assert ["run-1", "run-2"] == [part.job for part in incident.impact.lost]
    first, second = (part.gpu_seconds_lost for part in incident.impact.lost)
    assert first == pytest.approx(RANKS * 100 * 0.2, rel=0.03)
    assert second == pytest.approx(RANKS * 100 * 0.5, rel=0.03)
    assert first + second == pytest.approx(incident.impact.gpu_seconds_lost)


def test_links_that_are_down_cost_what_steps_take_longer_and_not_their_number(found, entity_of):
    """The size of such a symptom is a count: four links are no fourfold step time."""
    down = found("gpu.nvlink_down", entity_of("gpu.nvlink_down", 1), magnitude=4.0)
    assert 0.0 == cost([down], 0.0).share
    slow = found("job.slow", entity_of("job.slow", 0), magnitude=1.25)
    assert cost([down, slow], 0.0).share == pytest.approx(0.2)


def test_what_a_device_is_behind_its_peers_counts_where_no_steps_show_what_it_costs(
    found, entity_of
):
    behind = found("gpu.behind_peers", entity_of("gpu.behind_peers", 1), magnitude=1.25)
    assert cost([behind], float("-inf")).share == pytest.approx(0.2)
    assert 0.0 == cost([behind], 0.0).share


intervals = st.lists(
    st.tuples(st.booleans(), st.sampled_from([0.0, 0.2, 0.5, 1.0]), st.integers(0, 30)),
    min_size=1, max_size=40,
)  # fmt: skip


@given(rows=intervals)
def test_no_more_is_claimed_than_time_passed_and_nothing_twice(rows):
    """The ranges of one call do not overlap; what is claimed again is a higher share."""
    claims, now = TimeClaims(), 1000.0
    claimed: dict[int, float] = {}
    for active, share, late in rows:
        now += 1.0
        if not active:
            claims.pause(now)
            continue
        ranges = claims.claim(share, max(now - late, 1000.0), now)
        for begin, end in ranges:
            assert 1000.0 <= begin < end <= now
            for second in range(int(begin), int(end)):
                assert share > claimed.get(second, -1.0)
                claimed[second] = share
