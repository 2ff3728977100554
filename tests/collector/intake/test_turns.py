"""Turns of payloads: by bytes and connection."""

from concurrent.futures import Future

import pytest

from rankscope.collector.intake.payloads import Payload
from rankscope.collector.intake.turns import LARGE_BYTES, PayloadTurns
from rankscope.collector.journal.kinds import PayloadKind

LARGE = LARGE_BYTES + 1


@pytest.fixture
def turns():
    return PayloadTurns()


def waiting(size, connection):
    payload = Payload(PayloadKind.LOGS_PROTOBUF, bytes(size), connection=connection)
    return payload, Future()


def whose(taken):
    return [payload.connection for payload, _ in taken]


def sizes(taken):
    return [len(payload.body) for payload, _ in taken]


def test_a_small_payload_passes_those_that_another_connection_sent_before(turns):
    for _ in range(3):
        turns.add(waiting(20_000, "chatty"))
    turns.add(waiting(3_000, "honest"))
    assert ["honest", "chatty", "chatty", "chatty"] == whose(turns.take_small(1 << 20))


def test_as_many_payloads_are_taken_as_fit_and_one_that_does_not(turns):
    for size in (3_000, 2_000, 4_000):
        turns.add(waiting(size, size))
    assert [2_000] == sizes(turns.take_small(1_000))
    assert [3_000, 4_000] == sizes(turns.take_small(4_000))
    assert [] == turns.take_small(1_000)


def test_payloads_of_one_connection_come_in_their_order_whatever_their_size(turns):
    for size in (5_000, 10, 4_000):
        turns.add(waiting(size, "one"))
    assert [5_000, 10, 4_000] == sizes(turns.take_small(1 << 20))


def test_what_a_connection_sends_behind_a_large_payload_waits_for_it_and_nothing_else_does(turns):
    large = waiting(LARGE, "one")
    turns.add(large)
    turns.add(waiting(10, "one"))
    turns.add(waiting(20, "other"))
    assert [20] == sizes(turns.take_small(1 << 20))
    assert large == turns.take_large()
    assert [] == turns.take_small(1 << 20)
    assert turns.take_large() is None
    turns.done(large)
    assert [10] == sizes(turns.take_small(1 << 20))
    assert turns.empty


def test_a_large_payload_is_passed_by_at_most_as_many_bytes_as_it_has(turns):
    turns.add(waiting(10 * LARGE, "largest"))
    passed = 0
    while True:
        turns.add(waiting(LARGE, f"later {passed}"))
        taken = turns.take_large()
        if taken[0].connection == "largest":
            break
        turns.done(taken)
        passed += LARGE
    assert 9 * LARGE == passed


def test_what_a_connection_sends_at_once_does_not_all_come_before_another_ones(turns):
    for _ in range(4):
        turns.add(waiting(LARGE, "much"))
    taken = [turns.take_large()]
    turns.add(waiting(LARGE, "little"))
    while len(taken) < 5:
        turns.done(taken[-1])
        taken.append(turns.take_large())
    assert ["much", "much", "little", "much", "much"] == whose(taken)


def test_nothing_is_remembered_of_connections_that_have_nothing_waiting(turns):
    for name in range(100):
        turns.add(waiting(10, name))
    turns.take_small(1 << 20)
    assert turns.empty
