"""Exceptions that a launcher quotes of a process which waited for others."""

from tests.collector.artefacts.launches.launched_job import CRASH, cause, steps

SPAWNED = """\
-- Process 1 terminated with the following error:
Traceback (most recent call last):
  File "/job/train.py", line 15, in loop
    loss.backward()
{}
"""
WAITED = (
    "RuntimeError: [/gloo/transport/tcp/unbound_buffer.cc:84] Timed out waiting 90000ms for recv "
    "operation to complete"
)
CLOSED = "RuntimeError: Application timeout caused pair closure"


def test_a_process_whose_collective_timed_out_is_not_blamed_for_it(first):
    for words in (WAITED, CLOSED, f"{WAITED}\n{CLOSED}"):
        assert "unknown" == cause(first(steps(1) + SPAWNED.format(words)))[0]


def test_one_that_raised_an_error_of_its_own_is(first):
    fault, ranks, _ = cause(first(steps(1) + SPAWNED.format("ValueError: bad sample in shard 17")))
    assert (CRASH, [1]) == (fault, ranks)
