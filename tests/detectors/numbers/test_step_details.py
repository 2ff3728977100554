"""What was in a suspicious step: batches, the learning rate, restored state, replicas' weights."""

from dataclasses import replace

import numpy as np
import pytest

from rankscope.detectors.baselines import JobBaselines
from rankscope.detectors.numbers.step_details import StepDetailsDetector
from rankscope.detectors.sketch import sketch
from rankscope.vocabulary.ids import Job
from rankscope.vocabulary.samples import Event
from rankscope.vocabulary.topology import JobTopology, RankPlacement

STEPS = 60


def said(step, rank=0, reason="spike", at=None, **more):
    when = 1_700_000_000.0 + step if at is None else at
    known = {"rank": rank, "step": step, "reason": reason, "hash": f"{step:04x}{rank:04x}"}
    return Event("training.batch", when, known | more)


@pytest.fixture
def found():
    """Return a function that evaluates a job of ranks whose probes said these events."""

    def evaluate(*events, ranks=2, planes=None, **fields):
        window = sketch(np.full((ranks, STEPS), 0.8), hosts=1, planes=planes or {}, **fields)
        window = replace(window, events=events)
        return {one.kind: one for one in StepDetailsDetector().evaluate(window)}

    return evaluate


ODD = {"unusual": "rarity", "value": 11.0, "low": 5.0, "high": 5.5, "ids": "472-479"}


def test_an_odd_batch_is_named_by_rank_step_ids_and_hash(found):
    odd = found(said(50, rank=1, **ODD))["job.batch_unusual"]
    assert "in step 50 the batch of rank 1 (samples 472-479, hash 00320001)" in odd.text
    assert "rarity of its tokens, in bits a token, is 11, usually 5 to 5.5" in odd.text
    assert (11.0, [1]) == (odd.observed, list(odd.ranks))


def test_of_a_stretch_of_odd_batches_the_first_is_named(found):
    several = [said(step, rank=1, **ODD | {"value": 11.0 + step % 3}) for step in (50, 51, 52)]
    mild = said(49, **ODD | {"value": 6.4})
    assert "in step 50 " in found(mild, *several)["job.batch_unusual"].text


def test_a_batch_that_holds_a_nan_says_so(found):
    text = found(said(50, **ODD | {"unusual": "mean", "value": "nan"}))["job.batch_unusual"].text
    assert "the mean of its elements is not finite" in text


def test_the_first_steps_of_a_process_are_not_suspicious_for_what_is_odd_in_them(found):
    assert {} == found(said(50, reason="landmark", **ODD))


def test_what_was_long_ago_is_no_part_of_what_goes_on(found):
    assert {} == found(said(50, **ODD), first=400)


@pytest.mark.parametrize(
    "broken",
    [{"rank": "x"}, {"step": 1.5}, {"rank": 77}, {"unusual": ["mean"]}, {"unusual": 3}],
)
def test_what_is_malformed_is_left_out(found, broken):
    event = said(50, **ODD)
    assert {} == found(replace(event, attributes=event.attributes | broken))


def test_numbers_that_are_none_and_texts_that_are_endless_do_no_harm(found):
    odd = found(said(50, **ODD | {"value": "x", "low": "y", "high": True, "ids": "9" * 9999}))
    assert len(odd["job.batch_unusual"].text) < 600


def test_samples_that_came_again_are_named_with_the_step_that_had_them(found):
    again = found(said(50, repeats=8, of=8, repeated_step=10))["job.batch_repeated"]
    assert "in step 50 8 of 8 samples of rank 0" in again.text
    assert "in step 10 already" in again.text


def test_repeated_data_are_information_of_their_own_from_the_second_step_on(found):
    first = said(50, rank=1, reason="repeat", repeats=8, of=8, repeated_step=10)
    second = said(51, rank=1, reason="repeat", repeats=8, of=8, repeated_step=11)
    assert "job.data_repeated" not in found(first)
    repeated = found(first, second)["job.data_repeated"]
    assert "in 2 steps from step 50 on, rank 1" in repeated.text
    assert repeated.score < 1


def replicas(*dp):
    return JobTopology(
        Job("example"), attempt=0, cluster=None, world_size=len(dp), hosts=("host-0",),
        placements=[RankPlacement(rank, "host-0", dp=one) for rank, one in enumerate(dp)],
    )  # fmt: skip


def test_the_same_batch_on_two_replicas_is_said_and_on_two_parts_of_one_is_not(found):
    events = [said(50, rank=rank, hash="feed") for rank in (0, 1)]
    two = found(*events, placed=replicas(0, 1))["job.batch_repeated"]
    assert "ranks 0, 1 had the very same batch" in two.text
    assert {} == found(*events, placed=replicas(0, 0))
    assert {} == found(*events), "nobody knows whether they are replicas"


def rates(values):
    return {"training.learning_rate": np.tile(values, (2, 1))}


def test_a_learning_rate_that_jumps_is_named_with_its_step_and_both_values(found):
    values = 1e-3 * np.linspace(1.0, 0.9, STEPS)
    values[50:] *= 10.0
    jumped = found(planes=rates(values))["job.learning_rate_jumped"]
    assert "in step 50 the learning rate went from 0.000917 to 0.00915" in jumped.text


@pytest.mark.parametrize(
    "values",
    [
        pytest.param(np.linspace(1e-5, 1e-3, STEPS), id="warm-up"),
        pytest.param(1e-5 * 1.15 ** np.arange(STEPS), id="exponential warm-up"),
        pytest.param(1e-3 * np.cos(np.linspace(0, 1.5, STEPS)), id="cosine"),
        pytest.param(np.where(np.arange(STEPS) < 50, 1e-3, 1e-4), id="a step down"),
        pytest.param(np.zeros(STEPS), id="none"),
        pytest.param(np.full(STEPS, np.nan), id="unknown"),
    ],
)
def test_usual_schedules_do_not_jump(found, values):
    assert {} == found(planes=rates(values))


@pytest.fixture
def resumed(found):
    """Return a function that evaluates two attempts by what each said of the same steps."""

    def evaluate(before, after, *, ranks=2, world_size=2):
        held = JobBaselines()
        found(*before, held_baselines=held, ranks=ranks)
        return found(*after, attempt=1, held_baselines=held, ranks=ranks, world_size=world_size)

    return evaluate


STATE = {"reason": "landmark", "updates": 41, "random": "r", "learning_rate": 1e-3}


def landmarks(**changed):
    return [said(step, **STATE | {"hash": f"{step}"} | changed) for step in (40, 41)]


def test_an_attempt_that_restored_everything_lost_nothing(resumed):
    assert {} == resumed(landmarks(), landmarks())


@pytest.mark.parametrize(
    ("changed", "kind", "words"),
    [
        (
            {"updates": 1},
            "job.optimizer_not_restored",
            "it counts 1 updates, there it had counted 41",
        ),
        ({"hash": "other"}, "job.data_not_restored", "the batch is another one"),
        ({"learning_rate": 0.1}, "job.schedule_not_restored", "is 0.1, there it had been 0.001"),
        ({"random": "s"}, "job.random_state_differs", "random numbers on the CPU is another one"),
    ],
)
def test_the_part_of_the_state_that_was_not_restored_is_named(resumed, changed, kind, words):
    lost = resumed(landmarks(), landmarks(**changed))
    assert words in lost[kind].text
    assert "(rank 0, step 40, against the attempt before)" in lost[kind].text
    symptom = {"job.state_not_restored"} if kind != "job.random_state_differs" else set()
    assert {kind} | symptom == set(lost)


def test_data_that_begin_again_are_told_by_the_step_that_had_the_batch(resumed):
    before = [said(0, **STATE | {"hash": "first"}), *landmarks()]
    lost = resumed(before, [said(40, **STATE | {"hash": "first"})])
    assert "it is that of step 0" in lost["job.data_not_restored"].text


def test_a_part_that_differs_in_one_step_only_is_not_named(resumed):
    after = [said(40, **STATE | {"hash": "other"}), said(41, **STATE | {"hash": "41"})]
    assert {} == resumed(landmarks(), after)


def test_with_another_number_of_ranks_other_batches_are_no_loss(resumed):
    assert {} == resumed(landmarks(), landmarks(hash="other"), world_size=4)


def test_what_nobody_knows_of_the_attempt_before_is_not_lost(resumed):
    before = [said(40, reason="landmark", hash="")]
    assert {} == resumed(before, landmarks())


def weighed(rank, second="b", step=48, group="2:ab"):
    return said(
        step, rank=rank, reason="landmark", weights=f"head=aa blocks.1={second}", replicas=group
    )


def test_replicas_with_the_same_weights_are_no_finding(found):
    assert {} == found(*(weighed(rank) for rank in range(3)), ranks=3)


def test_the_replica_that_differs_from_the_others_is_named_with_the_layers(found):
    drifted = found(weighed(0), weighed(1, "c"), weighed(2), ranks=3)
    assert "in blocks.1 (1 of 2 groups of layers)" in drifted["job.weights_differ"].text
    assert [1] == list(drifted["rank.weights_differ"].entity.ranks)


def test_of_two_replicas_it_cannot_be_said_whose_weights_are_right(found):
    drifted = found(weighed(0), weighed(1, "c"))
    assert "it cannot be said whose are right" in drifted["rank.weights_differ"].text
    assert not drifted["job.weights_differ"].ranks


def test_weights_of_other_steps_or_of_another_group_are_not_compared(found):
    assert {} == found(weighed(0), weighed(1, "c", step=49), weighed(2, "d", group="2:cd"), ranks=3)
