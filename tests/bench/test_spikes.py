"""The bench of loss spikes: a text drawn by a seed, real faults, scores that are strict."""

from pathlib import Path

import pytest

pytest.importorskip("torch")

import torch

from bench.spikes import gpt, scoring, shapes, spoiling, trainer
from bench.spikes.__main__ import summed
from bench.spikes.runs import SpikeRun
from bench.spikes.shapes import SpikeFault, SpikeShape
from rankscope.vocabulary import tables

FAULTS = {
    one.name: one for one in tables.packaged(SpikeFault, "bench.spikes", "faults.toml", "fault")
}
NAMED = "in step 150 the batch of rank 1 (samples shard-09.bin:1, hash 0f) was unlike"


def run(fault, *evidence, cause="numerics.loss_spike", observations=()):
    rows = [{"family": family, "text": text, "relation": "supports"} for family, text in evidence]
    document = {"root_cause": {"hypotheses": [{"fault": cause, "evidence": rows}]}}
    incidents = [document] if evidence else []
    shape = SpikeShape(fault, 1, resumes=False)
    return scoring.score(FAULTS[fault], SpikeRun(shape, incidents, [*observations], Path()))


def test_the_text_is_the_same_for_the_same_seed_and_has_frequent_tokens():
    samples = gpt.corpus(64, 3).samples
    assert torch.equal(samples, gpt.corpus(64, 3).samples)
    assert not torch.equal(samples, gpt.corpus(64, 4).samples)
    counts = torch.bincount(samples.view(-1), minlength=gpt.VOCABULARY).sort(descending=True)[0]
    assert counts[:16].sum() > 0.5 * counts.sum()


@pytest.mark.parametrize("fault", FAULTS.values(), ids=lambda fault: fault.name)
def test_a_seed_draws_a_shape_within_what_its_fault_allows(fault):
    drawn = [shapes.drawn(fault, seed) for seed in range(64)]
    assert drawn == [shapes.drawn(fault, seed) for seed in range(64)]
    assert set(shapes.REPLICAS.ranks) == {shape.ranks for shape in drawn}
    assert all(shape.suspect < shape.ranks for shape in drawn)
    assert set(fault.variants) == {shape.variant for shape in drawn}
    low, high = fault.factor
    assert all(low <= shape.factor <= high for shape in drawn)


def test_a_seed_draws_a_layout_with_a_fault_that_it_can_have():
    drawn = [shapes.mixed(FAULTS, seed, clean=False) for seed in range(256)]
    assert drawn == [shapes.mixed(FAULTS, seed, clean=False) for seed in range(256)]
    assert set(shapes.layouts()) - {"replicas"} == {shape.layout for shape in drawn}
    assert all(shape.ranks in shapes.layouts()[shape.layout].ranks for shape in drawn)
    assert not any(FAULTS[shape.fault].clean for shape in drawn)
    assert all(FAULTS[shapes.mixed(FAULTS, seed, clean=True).fault].clean for seed in range(64))


def test_the_faults_of_each_layout_are_faults():
    assert set() == {
        fault for layout in shapes.layouts().values() for fault in layout.faults
    } - set(FAULTS)


def test_ranks_that_hold_one_copy_of_the_model_read_one_share_of_the_data():
    shape = SpikeShape("plain", 1, resumes=False, ranks=4, layout="tensor", part=2)
    orders = [trainer.order_of(shape, rank, 0) for rank in range(4)]
    assert orders[0] == orders[1]
    assert orders[2] == orders[3]
    assert set() == set(orders[0]) & set(orders[2])


def test_a_step_of_several_micro_batches_begins_where_the_one_before_ended():
    shape = SpikeShape("plain", 1, resumes=False)
    assert trainer.order_of(shape, 0, 0, 3)[2 * 3 * gpt.BATCH :] == trainer.order_of(shape, 0, 2, 3)


def test_the_batch_of_a_share_is_named_by_any_of_its_ranks():
    shape = SpikeShape("corrupted_tokens", 1, resumes=False, ranks=4, suspect=3, part=2)
    assert scoring.names_batch(NAMED.replace("rank 1", "rank 2"), shape)
    assert not scoring.names_batch(NAMED, shape)


def test_a_flipped_bit_makes_one_small_number_huge_and_its_sign_another():
    values = torch.full((4,), 0.01)
    spoiling.flip(values, 2, 30)
    spoiling.flip(values, 3, 31)
    assert [0.01, 0.01, -0.01] == pytest.approx(values[[0, 1, 3]].tolist())
    assert values[2] > 1e30


def test_a_bit_is_flipped_of_an_element_that_is_not_zero_and_makes_it_larger():
    values = torch.tensor([0.0, 0.25, 0.01])
    spoiling.enlarge(values, 0, 28)
    assert values[1] > 0.25
    assert [0.0, 0.01] == pytest.approx(values[[0, 2]].tolist())


@pytest.mark.parametrize("fault", ["corrupted_tokens", "poisoned_shard", "duplicated_shard"])
def test_a_spoiled_shard_is_four_batches_of_one_rank(fault):
    text, before = gpt.corpus(64 * 16, 1), gpt.corpus(64 * 16, 1)
    shape = SpikeShape(
        fault, 1, resumes=False, at=50, factor={"duplicated_shard": 20.0}.get(fault, 1.0)
    )
    spoiling.spoil(text, shape)
    changed = (text.samples != before.samples).any(dim=1).nonzero().view(-1).tolist()
    wanted = [(step * 2 + 1) * gpt.BATCH + row for step in range(50, 54) for row in range(8)]
    assert wanted == changed


def test_a_cause_is_right_only_with_the_evidence_and_the_batch_only_with_its_place():
    right = run("corrupted_tokens", ("loss", "the loss jumped"), ("batch", NAMED))
    assert (True, True) == (right.right, right.batch)
    other = run("corrupted_tokens", ("batch", NAMED.replace("step 150", "step 159")))
    assert (True, False) == (other.right, other.batch)
    assert not run("corrupted_tokens", ("loss", "the loss jumped")).right
    assert not run("corrupted_tokens", ("batch", NAMED), cause="numerics.nan_data").right
    assert not run("corrupted_tokens").right


def test_what_is_an_observation_has_to_be_one_and_name_the_part():
    text = "job.state_not_restored: the optimizer's state was not restored"
    assert run("optimizer_lost", observations=[text]).right
    assert not run("data_from_start", observations=[text]).right


def test_a_clean_run_is_right_while_nothing_is_said_of_its_values():
    assert run("plain", observations=["job.slow: steps are long"]).right
    assert not run("plain", ("loss", "the loss jumped")).right
    assert not run("plain", observations=["job.data_repeated: again"]).right


def test_sums_count_runs_causes_and_batches():
    rows = [
        {"fault": "a", "right": True, "batch": False},
        {"fault": "a", "right": True, "batch": True},
        {"fault": "b", "right": False, "batch": None},
    ]
    assert {
        "a": {"runs": 2, "right": 2, "batch": 1},
        "b": {"runs": 1, "right": 0},
    } == summed(rows)
