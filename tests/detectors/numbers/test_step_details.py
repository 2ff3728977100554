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


def test_random_numbers_of_another_stream_were_not_restored(resumed):
    lost = resumed(landmarks(random_stream="a"), landmarks(random="s", random_stream="b"))
    assert "random numbers on the CPU were not restored" in lost["job.state_not_restored"].text


def test_a_loader_that_drew_a_random_number_more_is_no_loss(resumed):
    assert {} == resumed(landmarks(random_stream="a"), landmarks(random="s", random_stream="a"))


def test_what_one_rank_alone_did_not_restore_is_named_from_its_second_step_on(resumed):
    before = [*landmarks(), *(said(step, 1, **STATE) for step in (40, 41))]
    after = [said(step, 1, **STATE | {"updates": 1}) for step in (40, 41)]
    assert (
        "(rank 1, step 40"
        in resumed(before, [*landmarks(), *after])["job.optimizer_not_restored"].text
    )
    assert {} == resumed(before, [*landmarks(), *after[:1]])


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


def test_the_last_step_at_which_they_had_the_same_weights_is_named(found):
    before = [weighed(rank, step=32) for rank in range(2)]
    drifted = found(*before, weighed(0), weighed(1, "c"))["job.weights_differ"]
    assert drifted.text.startswith("after step 48 ")
    assert drifted.text.endswith("; after step 32 they were")


def test_of_two_replicas_it_cannot_be_said_whose_weights_are_right(found):
    drifted = found(weighed(0), weighed(1, "c"))
    assert "it cannot be said whose are right" in drifted["rank.weights_differ"].text
    assert not drifted["job.weights_differ"].ranks


def test_weights_of_other_steps_or_of_another_group_are_not_compared(found):
    assert {} == found(weighed(0), weighed(1, "c", step=49), weighed(2, "d", group="2:cd"), ranks=3)


def losses(*high, rank=1, ranks=3, by=3.0, level=2.0):
    """Local losses of ranks; one of them has some steps with a high one."""
    plane = np.random.default_rng(7).normal(level, 0.02, (ranks, STEPS))
    plane[rank, list(high)] += by
    return {"training.loss|local": plane}


def test_a_rank_whose_loss_alone_is_high_in_several_steps_has_unusual_data(found):
    events = [said(step, rank=1, ids="472-479") for step in (50, 51, 52)]
    odd = found(*events, ranks=3, planes=losses(50, 51, 52))
    assert {"job.data_unusual", "job.batch_unusual"} == set(odd)
    assert "from step 50 to 52 the loss of rank 1 was high" in odd["job.data_unusual"].text
    assert "samples 472-479" in odd["job.data_unusual"].text
    assert odd["job.data_unusual"].score < 1


def test_a_single_odd_batch_is_evidence_and_nothing_of_its_own(found):
    odd = found(said(50, rank=1), ranks=3, planes=losses(50))
    assert {"job.batch_unusual"} == set(odd)
    assert "that of its peers 2" in odd["job.batch_unusual"].text


@pytest.mark.parametrize(
    "planes",
    [
        pytest.param(losses(*range(50, STEPS)), id="it does not come back"),
        pytest.param(losses(50, 51, by=0.05), id="within what ranks differ by"),
        pytest.param(
            {"training.loss|local": losses(50, 51)["training.loss|local"][1:2]}, id="no peers"
        ),
        pytest.param(
            {"training.loss|local": np.tile(losses(50, 51)["training.loss|local"][1], (3, 1))},
            id="all ranks alike",
        ),
        pytest.param({}, id="no losses"),
    ],
)
def test_data_are_not_unusual_where_weights_or_noise_may_be_the_reason(found, planes):
    ranks = len(next(iter(planes.values()), np.zeros((3, 1))))
    row = min(1, ranks - 1)
    assert {} == found(*(said(step, rank=row) for step in (50, 51)), ranks=ranks, planes=planes)


def test_layers_of_a_suspicious_step_are_named_by_their_norms(found):
    event = said(50, reason="gradient", gradient_groups=12, gradient_norms="head=9 norm=0.1")
    layers = found(event)["job.gradient_by_layer"]
    assert "in step 50 the largest gradient norms of 12 groups of layers are head=9" in layers.text


def test_the_layer_in_which_gradients_stopped_being_finite_is_the_one_nearest_to_the_loss(found):
    known = {"gradient_groups": 12, "gradient_bad": 3, "gradient_bad_last": "blocks.0"}
    assert (
        "blocks.0 nearest to the loss"
        in found(said(50, reason="nonfinite", **known))["job.gradient_by_layer"].text
    )
    text = found(said(50, reason="nonfinite", **known | {"gradient_bad": 12}))[
        "job.gradient_by_layer"
    ].text
    assert text.endswith("all 12 groups of layers are not finite")


def test_a_single_element_that_is_a_whole_gradient_is_information_of_its_own(found):
    known = {"gradient_groups": 2, "gradient_norms": "a=1e+34", "element": 1e34}
    event = said(50, reason="nonfinite", **known, element_group="a", element_others=0.3)
    alone = found(event)["job.gradient_of_one_element"]
    assert "one element of the gradient of a was 1e+34, all the others together 0.3" in alone.text
    assert alone.score < 1


def begun(rank, second="b", step=48, first="1f"):
    return said(
        step,
        rank=rank,
        reason="landmark",
        weights=f"head=aa blocks.1={second}",
        weights_first=first,
    )


def test_ranks_that_began_with_the_same_weights_and_part_are_information(found):
    parted = found(begun(0), begun(1, "c"))
    assert {"job.weights_parted"} == set(parted)
    assert "after step 48 they are not the same in blocks.1" in parted["job.weights_parted"].text
    assert parted["job.weights_parted"].score < 1


@pytest.mark.parametrize(
    "events",
    [
        pytest.param([begun(0), begun(1)], id="they are the same"),
        pytest.param([begun(0), begun(1, "c", first="2f")], id="they began with others"),
        pytest.param(
            [begun(0), begun(1, "c"), begun(0, step=56), begun(1, step=56)],
            id="they are reduced now and then",
        ),
    ],
)
def test_weights_that_no_replica_has_to_have_alike_are_not_compared(found, events):
    assert {} == found(*events)


def test_replicas_that_all_read_the_same_batches_are_information(found):
    events = [weighed(rank, step=step) for rank in range(2) for step in (0, 1, 2)]
    same = [
        replace(one, attributes=one.attributes | {"hash": f"h{i % 3}"})
        for i, one in enumerate(events)
    ]
    text = found(*same)["job.data_repeated"].text
    assert "ranks 0, 1 had the very same batches in 3 steps from step 0 on" in text


def test_some_replicas_with_the_same_batches_may_share_a_sequence(found):
    hashes = ("a", "a", "b", "b")
    events = [weighed(rank, step=step) for rank in range(4) for step in (0, 1, 2)]
    pairs = [
        replace(one, attributes=one.attributes | {"hash": hashes[one.attributes["rank"]]})
        for one in events
    ]
    assert {} == found(*pairs, ranks=4)


@pytest.mark.parametrize("batches", [("0f", "0f"), ("0f", "")], ids=["the same data", "no data"])
def test_parts_of_one_model_that_were_seeded_alike_are_no_replicas(found, batches):
    events = [
        replace(event, attributes={**event.attributes, "hash": batch})
        for event, batch in zip((begun(0), begun(1, "c")), batches, strict=True)
    ]
    assert {} == found(*events)


def test_stages_of_a_pipeline_that_were_seeded_alike_are_no_replicas(found):
    stages = [RankPlacement(rank, "host-0", pp=rank) for rank in range(2)]
    placed = JobTopology(Job("job"), world_size=2, placements=stages)
    assert {} == found(begun(0), begun(1, "c"), placed=placed)


@pytest.mark.parametrize(("second", "said_of"), [("b", {"job.data_repeated"}), ("c", set())])
def test_ranks_of_one_beginning_read_a_share_twice_while_their_weights_are_the_same(
    found, second, said_of
):
    events = [
        replace(event, attributes={**event.attributes, "hash": f"0f{step}"})
        for step in (16, 32, 48, 56)
        for event in (begun(0, step=step), begun(1, second, step=step))
    ]
    assert said_of == set(found(*events))


def updated(rank, step, weights, gradients="5c"):
    text = f"head=aa blocks.1={weights}"
    return said(step, rank=rank, reason="landmark", weights=text, gradients=gradients)


def test_ranks_with_the_same_gradients_whose_weights_never_agree_are_information(found):
    events = [updated(rank, step, rank) for step in (16, 32) for rank in range(2)]
    parted = found(*events)["job.weights_parted"]
    assert "ranks 0, 1 update with the very same gradients, and after step 16" in parted.text
    assert "in blocks.1 (1 of 2 groups of layers), nor after 1 later ones" in parted.text
    assert parted.score < 1


@pytest.mark.parametrize(
    "events",
    [
        pytest.param([updated(0, 16, "b"), updated(1, 16, "c")], id="in one step only"),
        pytest.param(
            [updated(rank, step, rank, f"5{rank}") for step in (16, 32) for rank in range(2)],
            id="other gradients",
        ),
        pytest.param(
            [updated(rank, step, "b") for step in (16, 32) for rank in range(2)],
            id="the same weights",
        ),
        pytest.param(
            [*(updated(rank, step, rank) for step in (16, 32) for rank in range(2)),
             *(updated(rank, 48, "b") for rank in range(2))],
            id="they agree in the end",
        ),
    ],
)  # fmt: skip
def test_gradients_and_weights_that_a_sound_job_has_are_no_finding(found, events):
    assert {} == found(*events)


def test_tensors_that_are_placed_alike_may_belong_to_ranks_that_read_the_same(found):
    events = [
        replace(event, attributes={**event.attributes, "hash": f"{event.attributes['step']}"})
        for step in (16, 32, 48, 56)
        for event in (weighed(rank, step=step, group="placed:2:ab") for rank in range(2))
    ]
    assert {} == found(*events)


def micro(step, rank, used, own=("3 1 0", "2 5 1")):
    return said(
        step, rank=rank, reason="landmark", passes=2, gradient_used=used,
        gradient_own=own[rank], gradient_newest=("1 0 1", "0 2 1")[rank],
    )  # fmt: skip


def test_an_update_by_the_last_micro_batch_alone_is_information(found):
    events = [micro(step, rank, "0.5 1 1") for step in (16, 32, 48) for rank in range(2)]
    lost = found(*events)["job.micro_batches_lost"]
    assert "from step 16 on the gradient that updates the weights is that of the last of 2" in (
        lost.text
    )
    assert lost.score < 1


@pytest.mark.parametrize(
    ("used", "own"),
    [
        pytest.param("2.5 3 0.5", ("3 1 0", "2 5 1"), id="the mean of all"),
        pytest.param("50 60 10", ("3 1 0", "2 5 1"), id="the sum of all, clipped or scaled"),
        pytest.param("0.5 1 1", ("1 0 1", "0 2 1"), id="batches with the same gradients"),
        pytest.param("9 1 -4", ("3 1 0", "2 5 1"), id="something else"),
        pytest.param("nan 1 1", ("3 1 0", "2 5 1"), id="not finite"),
        pytest.param("0.5 1", ("3 1 0", "2 5 1"), id="another number of sums"),
    ],
)
def test_an_update_by_all_micro_batches_is_no_finding(found, used, own):
    events = [micro(step, rank, used, own) for step in (16, 32, 48) for rank in range(2)]
    assert {} == found(*events)


UNCOUNTED = STATE | {"updates": -1}


def averaged(moments, steps=(40, 41)):
    return [said(step, **UNCOUNTED | {"moments": moments + step - 40}) for step in steps]


def test_averages_of_an_optimizer_without_a_count_are_compared_after_the_first_update(resumed):
    lost = resumed(averaged(10.0), averaged(4.0))
    assert "the norm of its averages is 4, there it had been 10" in (
        lost["job.optimizer_not_restored"].text
    )
    assert {} == resumed(averaged(10.0), averaged(9.0))


def test_averages_of_shards_of_other_ranks_are_not_compared(resumed):
    assert {} == resumed(averaged(10.0), averaged(4.0), world_size=4)
