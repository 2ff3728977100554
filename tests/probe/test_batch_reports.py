"""Which steps' batches are sent: those that are suspicious, those before them, and landmarks."""

import math

import pytest

from rankscope.probe import fingerprints
from rankscope.probe.batch_reports import BatchReports
from rankscope.probe.batch_ring import BatchRing
from rankscope.probe.fingerprints import BatchFingerprint
from rankscope.probe.step_record import StepRecord, StepState
from rankscope.probe.suspicion import StepSuspicion


@pytest.fixture
def reported(monkeypatch):
    """Return a function that runs steps with losses, and returns the events of each."""
    monkeypatch.setattr(fingerprints, "take", lambda batch, _ids: batch)
    ring = BatchRing({})
    reports = BatchReports(ring)

    def run(losses, *, rows=None, first=0, state=None, norm=1.0):
        sent = []
        for step, loss in enumerate(losses, first):
            number = step if rows is None else rows(step)
            found = BatchFingerprint(rows=(4 * number, 4 * number + 1), samples=2, ids=(number,))
            ring.take(found, epoch=1)
            ring.passes = 1
            ring.close(step)
            record = StepRecord(at=1000.0 + step, step=step, loss_sum=loss, loss_count=1)
            record.set("training.grad_norm", norm)
            record.set("training.learning_rate", 1e-3)
            record.state = state
            sent += reports.look(record, rank=3)
        return sent

    return run


def test_steps_as_usual_send_nothing(reported):
    assert [] == reported([2.0 + 0.01 * (step % 7) for step in range(200)])


def test_a_spike_sends_its_step_and_the_two_before_it(reported):
    sent = reported([2.0] * 60 + [3.0])
    assert [58, 59, 60] == [event.attributes["step"] for event in sent]
    assert ["before", "before", "spike"] == [event.attributes["reason"] for event in sent]
    spike = sent[-1].attributes
    assert (3, 2, "60", 1e-3) == tuple(
        spike[name] for name in ("rank", "samples", "ids", "learning_rate")
    )
    assert 16 == len(spike["hash"])


def test_a_step_is_sent_once_and_a_run_full_of_spikes_a_bounded_number(reported):
    sent = reported([2.0, 2.0, 2.0, 9.0] * 500)
    steps = [event.attributes["step"] for event in sent]
    assert len(steps) == len(set(steps))
    assert len(steps) < 300


def test_a_value_that_is_not_finite_is_suspicious_from_the_first_step_on(reported):
    (event,) = reported([math.nan])
    assert "nonfinite" == event.attributes["reason"]


def test_a_gradient_norm_far_above_the_usual_is_suspicious():
    suspicion = StepSuspicion()

    def reason(step, norm):
        record = StepRecord(step=step, loss_sum=2.0, loss_count=1)
        record.set("training.grad_norm", norm)
        return suspicion.reason(record)

    assert [""] * 40 == [reason(step, 1.0 + step % 3) for step in range(40)]
    assert "gradient" == reason(40, 50.0)


def test_a_landmark_sends_what_a_resume_has_to_restore(reported):
    state = StepState(7, b"random", [("module.a.weight", 1)], "2:ab")
    (event,) = reported([2.0], state=state)
    assert ("landmark", 7) == (event.attributes["reason"], event.attributes["updates"])
    assert 16 == len(event.attributes["random"])
    assert event.attributes["weights"].startswith("a=")


def test_a_few_draws_leave_the_stream_of_random_numbers_as_it_is(reported):
    torch = pytest.importorskip("torch")
    torch.manual_seed(3)
    states = []
    for draws in (100, 3, 5056):
        torch.rand(draws)
        states.append(bytes(torch.get_rng_state().tolist()))
    streams = [
        reported([2.0], first=step, state=StepState(7, state))[0].attributes["random_stream"]
        for step, state in enumerate(states)
    ]
    assert streams[0] == streams[1] != streams[2]


def test_samples_that_come_again_in_one_pass_over_the_data_are_suspicious(reported):
    sent = reported([2.0] * 64, rows=lambda step: step - 30 if step >= 60 else step)
    assert [("repeat", 60), ("repeat", 61), ("repeat", 62), ("repeat", 63)] == [
        (event.attributes["reason"], event.attributes["step"]) for event in sent
    ]
    assert (2, 2, 30) == tuple(
        sent[0].attributes[name] for name in ("repeats", "of", "repeated_step")
    )


def test_a_dataset_whose_samples_always_come_again_is_not_suspicious(reported):
    assert [] == reported([2.0] * 300, rows=lambda step: step % 8)
