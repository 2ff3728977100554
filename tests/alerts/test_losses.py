"""What a job loses: never more than it holds, divided among its incidents, whoever claims first."""

import pickle
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankscope.alerts.losses import MOST_OLDER, JobLosses, LossClaim, divided

STOPS, CORRUPTS, SLOWS = 0, 1, 2
GPUS = 16


def claim(name, share, begin=0.0, end=100.0, tier=SLOWS):
    return LossClaim(name, tier, share, begin, end)


def granted(losses, *claims, gpus=GPUS):
    """Return what each claimant gets, in GPU-seconds."""
    found: dict[str, float] = {}
    for grant in losses.grant(claims, gpus):
        found[grant.claimant] = found.get(grant.claimant, 0.0) + grant.gpu_seconds
    return found


def test_one_incident_alone_gets_all_that_it_claims():
    assert {"a": 0.25 * 100 * GPUS} == granted(JobLosses(), claim("a", 0.25))


def test_equal_claims_share_what_one_of_them_would_get():
    assert {"a": 200.0, "b": 200.0} == granted(JobLosses(), claim("a", 0.25), claim("b", 0.25))


def test_what_only_one_claims_is_its_own():
    """A straggler beside a slowdown of the whole job: together they are the measured slowness."""
    found = granted(JobLosses(), claim("straggler", 0.125), claim("slow", 0.25))
    assert {"straggler": 100.0, "slow": 300.0} == found


def test_a_job_that_stands_still_belongs_to_what_stopped_it():
    found = granted(
        JobLosses(),
        claim("slow", 0.5),
        claim("nan", 1.0, tier=CORRUPTS),
        claim("hang", 1.0, tier=STOPS),
    )
    assert {"hang": 100.0 * GPUS} == found


def test_what_is_left_of_worthless_steps_is_nothing_for_slow_ones():
    found = granted(JobLosses(), claim("slow", 0.5), claim("nan", 1.0, tier=CORRUPTS))
    assert {"nan": 100.0 * GPUS} == found


def test_a_claim_that_is_made_later_gets_what_goes_beyond():
    losses = JobLosses()
    assert {"a": 400.0} == granted(losses, claim("a", 0.25))
    assert {"b": 16 * (50 * 0.25 + 50 * 0.5)} == granted(losses, claim("b", 0.5, 50.0, 150.0))
    assert {} == granted(losses, claim("a", 0.5, 50.0, 150.0))


def test_gpus_that_the_job_held_then_are_what_a_late_claim_is_about():
    losses = JobLosses()
    granted(losses, claim("a", 0.5), gpus=8)
    assert {"b": 8 * 50.0} == granted(losses, claim("b", 1.0), gpus=64)


def test_nothing_is_lost_between_two_claims():
    losses = JobLosses()
    granted(losses, claim("a", 0.5, 0.0, 10.0))
    granted(losses, claim("a", 0.5, 20.0, 30.0))
    assert {"b": GPUS * (20 * 0.5 + 10)} == granted(losses, claim("b", 1.0, 0.0, 30.0))


shares = st.sampled_from([0.05, 0.1, 0.2, 0.5, 1.0])
second = st.lists(
    st.tuples(
        st.sampled_from("abcde"),
        st.sampled_from([STOPS, CORRUPTS, SLOWS]),
        shares,
        st.integers(0, 40),
    ),
    max_size=5,
    unique_by=lambda row: row[0],
)


def claims_of(rows, now):
    return [LossClaim(name, tier, share, now - 1.0 - late, now) for name, tier, share, late in rows]


@given(seconds=st.lists(second, min_size=1, max_size=30))
def test_all_incidents_together_lose_at_most_what_the_job_held_in_every_window(seconds):
    """And as much as the highest of their claims, at each instant."""
    losses = JobLosses()
    lost: dict[int, float] = {}
    highest: dict[int, float] = {}
    for number, rows in enumerate(seconds):
        claims = claims_of(rows, 100.0 + number)
        for grant in losses.grant(claims, GPUS):
            assert grant.gpu_seconds >= 0
            each = grant.gpu_seconds / (grant.end - grant.begin)
            for at in range(int(grant.begin), int(grant.end)):
                lost[at] = lost.get(at, 0.0) + each
        for row in claims:
            for at in range(int(row.begin), int(row.end)):
                highest[at] = max(highest.get(at, 0.0), row.share)
    assert {at: share * GPUS for at, share in highest.items()} == pytest.approx(lost)
    assert all(each <= GPUS + 1e-9 for each in lost.values())


@given(rows=second, order=st.randoms(use_true_random=False))
def test_the_order_of_claims_does_not_matter(rows, order):
    claims = claims_of(rows, 100.0)
    shuffled = order.sample(claims, len(claims))
    assert granted(JobLosses(), *claims) == granted(JobLosses(), *shuffled)


@given(rows=second)
def test_an_instant_is_divided_up_to_the_highest_claim(rows):
    parts = divided(claims_of(rows, 100.0))
    highest = max((share for _, _, share, _ in rows), default=0.0)
    assert sum(share for _, share in parts) == pytest.approx(highest)


def test_a_snapshot_goes_on_as_if_there_had_been_none():
    losses = JobLosses()
    granted(losses, claim("a", 0.25), claim("b", 0.5, 20.0, 60.0))
    restored = pickle.loads(pickle.dumps(losses))  # noqa: S301  our own bytes
    late = claim("c", 0.75, 10.0, 120.0)
    assert granted(losses, late) == granted(restored, late)


def test_hours_of_changing_slowness_stay_small_and_bounded():
    """What is joined is kept in sum: a claim about all of it gets no more than what was left."""
    losses, drawn, lost, hours = JobLosses(), random.Random(7), 0.0, 7200
    for now in range(hours):
        share = drawn.choice([0.1, 0.2, 0.3])
        lost += sum(granted(losses, claim("a", share, now, now + 1.0)).values())
    assert len(losses.intervals) <= 2 * MOST_OLDER + 900
    lost += sum(granted(losses, claim("b", 1.0, 0.0, float(hours))).values())
    assert lost == pytest.approx(GPUS * hours)
