"""Fingerprints of batches: the same for the same samples, cheap for large ones, and no content."""

import math

import pytest
import torch

from rankscope.probe import fingerprints
from rankscope.probe.fingerprints import TokenCounts


def made(batch, ids=None, counts=None):
    found = fingerprints.take(batch, ids)
    assert found is not None
    fingerprints.finish(found, counts)
    return found


def tokens(seed=1, rows=4, width=16, most=100):
    return torch.randint(0, most, (rows, width), generator=torch.Generator().manual_seed(seed))


def test_equal_batches_have_equal_hashes_and_other_ones_have_others():
    assert made(tokens(1)).hash == made(tokens(1).clone()).hash
    assert made(tokens(1)).hash != made(tokens(2)).hash
    assert 4 == len(set(made(tokens(1)).rows))


def test_a_sample_keeps_its_hash_in_another_batch_and_at_another_place():
    first, second = tokens(1), tokens(2)
    mixed = torch.stack([second[0], first[3], second[2]])
    assert made(mixed).rows[1] == made(first).rows[3]


@pytest.mark.parametrize(
    "wrap",
    [
        lambda batch: batch,
        lambda batch: (batch, torch.zeros(4)),
        lambda batch: {"labels": tokens(9), "input_ids": batch},
        lambda batch: {"pair": [batch]},
    ],
)
def test_the_tokens_are_found_wherever_a_loader_puts_them(wrap):
    assert made(tokens(1)).hash == made(wrap(tokens(1))).hash


@pytest.mark.parametrize("batch", [None, "text", [1, 2], {}, {"a": "b"}, torch.zeros(0, 4)])
def test_what_holds_no_tensor_in_host_memory_has_no_fingerprint(batch):
    assert fingerprints.take(batch) is None


def test_a_tensor_on_a_device_is_left_out():
    assert fingerprints.take(torch.zeros(4, 4, device="meta")) is None


def test_what_is_overwritten_after_it_was_fetched_is_not_what_is_hashed():
    batch = tokens(1)
    found = fingerprints.take(batch)
    assert found is not None
    batch.zero_()
    fingerprints.finish(found)
    assert made(tokens(1)).hash == found.hash


def test_of_a_large_batch_a_bounded_part_is_copied_from_both_ends_of_each_sample():
    large = torch.zeros(256, 100_000, dtype=torch.int64)
    found = fingerprints.take(large)
    assert found is not None
    assert found.copied is not None
    assert len(found.copied.data) <= fingerprints.MOST_BYTES
    changed = large.clone()
    changed[0, -1] = 1
    assert made(large).rows[0] != made(changed).rows[0]
    assert fingerprints.MOST_ROWS == len(made(large).rows)


def test_ids_are_those_of_the_sampler_else_those_in_the_batch():
    batch = {"input_ids": tokens(1), "sample_ids": torch.tensor([7, 8, 9, 10])}
    assert (7, 8, 9, 10) == made(batch).ids
    assert (1, 2) == made(batch, [1, 2]).ids
    assert ("shard.tar/3",) == made({"input_ids": tokens(1), "__key__": ["shard.tar/3"]}).ids


def test_the_share_that_the_loss_leaves_out_is_known_by_labels_or_by_a_mask():
    labels = tokens(1)
    labels[:, :4] = -100
    assert 0.25 == made({"input_ids": tokens(1), "labels": labels}).figures["masked"]
    mask = torch.ones(4, 16, dtype=torch.int64)
    mask[:2] = 0
    assert 0.5 == made({"input_ids": tokens(1), "attention_mask": mask}).figures["masked"]
    assert "masked" not in made({"input_ids": tokens(1), "labels": tokens(2)}).figures


def test_tokens_that_were_never_seen_are_rarer_than_those_that_were():
    counts = TokenCounts()
    for seed in range(20):
        usual = made(tokens(seed, most=20), counts=counts)
    odd = made(tokens(99, most=2000), counts=counts)
    assert odd.figures["rarity"] > usual.figures["rarity"] + 4


def test_figures_of_floats_show_what_is_not_finite_and_count_no_tokens():
    batch = torch.ones(4, 16)
    batch[2, 3] = math.nan
    found = made(batch, counts=TokenCounts())
    assert math.isnan(found.figures["mean"])
    assert {"size", "mean"} == set(found.figures)


def test_keys_beside_the_tensors_are_ids_with_their_files_where_these_are_there():
    keys = [f"sample{row}" for row in range(4)]
    assert tuple(keys) == made((keys, tokens(1))).ids
    files = ["/data/train-0.tar"] * 4
    named = made({"__key__": keys, "__url__": files, "input_ids": tokens(1)}).ids
    assert "train-0.tar:sample0" == named[0]


def test_what_is_no_text_for_each_sample_is_no_id():
    assert () == made((tokens(1), [1, 2], ["a", 2], [])).ids
