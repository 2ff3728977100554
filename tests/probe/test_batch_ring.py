"""The ring of batches: which step used which, what is held, and what is unusual or comes again."""

import math

import pytest

from rankscope.probe import batch_ring, fingerprints
from rankscope.probe.batch_ring import KEPT, BatchRing
from rankscope.probe.fingerprints import BatchFingerprint


@pytest.fixture
def ring(monkeypatch):
    """Return a ring whose batches are fingerprints already."""
    monkeypatch.setattr(fingerprints, "take", lambda batch, _ids: batch)
    return BatchRing({})


def batch(number=0, *, epoch=1, **figures):
    rows = tuple(range(4 * number, 4 * number + 4))
    return BatchFingerprint(rows=rows, samples=4, figures=figures, epoch=epoch)


def step(ring, number, *batches, passes=1):
    for one in batches:
        ring.take(one, epoch=one.epoch if one else 0)
    ring.passes = passes
    ring.close(number)


def test_micro_batches_belong_to_the_step_that_ends_after_them(ring):
    step(ring, 5, batch(0), batch(1), passes=2)
    assert [(5, 0), (5, 1)] == [(one.step, one.micro) for one in ring.batches()]


def test_a_loader_that_runs_one_batch_ahead_shifts_nothing(ring):
    step(ring, 0, batch(0), batch(1))
    step(ring, 1, batch(2))
    step(ring, 2, batch(3))
    assert [0, 1, 2] == [one.step for one in ring.batches()]
    assert [0, 4, 8] == [one.rows[0] for one in ring.batches()]


def test_a_batch_that_was_fetched_and_not_trained_on_does_not_shift_the_later_ones(ring):
    step(ring, 0, batch(0))
    step(ring, 1, batch(1), batch(2))
    step(ring, 2, batch(3))
    assert [(0, 0), (1, 4), (2, 12)] == [(one.step, one.rows[0]) for one in ring.batches()]


def test_without_backward_passes_of_torch_all_that_was_fetched_is_the_step_s(ring):
    step(ring, 3, batch(0), batch(1), passes=0)
    assert [3, 3] == [one.step for one in ring.batches()]


def test_a_batch_without_a_tensor_keeps_its_place_in_the_line(ring):
    step(ring, 0, None, batch(1), passes=2)
    assert [(0, 1)] == [(one.step, one.micro) for one in ring.batches()]
    assert 1 == ring.missed


def test_it_holds_the_newest_and_no_more(ring):
    for number in range(KEPT + 10):
        step(ring, number, batch(number))
    assert (KEPT, 10) == (len(ring.batches()), ring.batches()[0].step)


def test_it_keeps_nothing_where_the_job_says_so():
    ring = BatchRing({"RANKSCOPE_BATCHES": "0"})
    step(ring, 0, batch(0))
    assert [] == ring.batches()
    assert not ring.due(0)


def test_copies_that_wait_for_the_sender_are_bounded():
    torch = pytest.importorskip("torch")
    ring = BatchRing({})
    for _ in range(3 * batch_ring.MOST_COPIED):
        ring.take(torch.ones(2, 4, dtype=torch.int64))
    assert batch_ring.MOST_COPIED == len(ring._copied)
    ring.settle()
    assert not ring._copied


def test_first_steps_and_those_after_a_checkpoint_are_landmarks_and_some_by_their_number(ring):
    due = []
    for number in range(1, 300):
        if number == 100:
            ring.saved()
        due += [number] if ring.due(number) else []
        step(ring, number, batch(number))
    assert [1, 2, 3, 4, 32, 64, 96, 100, 101, 102, 103, 128, 160, 192, 224, 256, 288] == due
    ring.suspected(300)
    assert [304, 320, 336] == [number for number in range(301, 340) if ring.due(number)]


def test_a_batch_outside_of_what_was_usual_is_named_with_the_figure(ring):
    for number in range(60):
        step(ring, number, batch(number, mean=100.0 + number % 5))
    step(ring, 60, batch(60, mean=103.0), batch(61, mean=150.0), passes=2)
    odd = batch_ring.unusual(ring.batches(), 60)
    assert odd is not None
    found, figure, value, low, high = odd
    assert (1, "mean", 150.0) == (found.micro, figure, value)
    assert 100.0 <= low < high <= 104.0
    assert batch_ring.unusual(ring.batches(), 59) is None


def test_a_figure_that_is_not_finite_is_unusual_and_too_few_batches_say_nothing(ring):
    for number in range(40):
        step(ring, number, batch(number, mean=1.0))
    step(ring, 40, batch(40, mean=math.nan))
    odd = batch_ring.unusual(ring.batches(), 40)
    assert odd is not None
    assert math.isnan(odd[2])
    few = [one for one in ring.batches() if one.step > 20]
    assert batch_ring.unusual(few, 40) is None


def test_samples_that_come_again_are_counted_with_the_step_that_had_them(ring):
    for number in range(60):
        step(ring, number, batch(number))
    step(ring, 60, batch(20))
    assert (4, 4, 20, 0.0) == batch_ring.repeats(ring.batches(), 60)
    assert (0, 4, None, 0.0) == batch_ring.repeats(ring.batches(), 59)


def test_samples_of_the_next_pass_over_the_data_do_not_come_again(ring):
    for number in range(60):
        step(ring, number, batch(number % 30, epoch=1 + number // 30))
    assert 0 == batch_ring.repeats(ring.batches(), 59)[0]


def test_ids_are_ranges_of_numbers_or_what_the_dataset_says_of_them(ring):
    assert "8-11, 20" == ring.named([8, 9, 10, 11, 20])
    assert "a, b, c, d, ..." == ring.named(["a", "b", "c", "d", "e"])
    ring.locate = lambda index: f"shard:{index * 10}"
    assert "shard:80, shard:90, shard:100 and 1 more" == ring.named([8, 9, 10, 11])
    ring.locate = lambda _: 1 / 0
    assert "8-9" == ring.named([8, 9])
    assert 1 == ring.failures


class Located:
    def locate(self, index):
        return f"seen:{index}"


def test_the_dataset_of_a_loader_names_samples_unless_the_loop_gave_one(ring):
    first, dataset = Located(), Located()
    ring.seen(first)
    ring.seen(dataset)
    assert "seen:8" == ring.named([8])
    ring.given(lambda index: f"given:{index}")
    ring.seen(dataset)
    assert "given:8" == ring.named([8])


def test_a_dataset_that_is_gone_or_can_have_no_reference_names_nothing(ring):
    dataset = Located()
    ring.seen(dataset)
    del dataset
    assert "8-9" == ring.named([8, 9])
    ring.seen([1, 2])
    assert "8-9" == ring.named([8, 9])
    assert 0 == ring.failures
