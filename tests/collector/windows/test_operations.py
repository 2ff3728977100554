"""The ledger of single collectives: bounded, in order, who was late, how far clocks are apart."""

import json
import pickle

import pytest

from rankscope.collector.windows.operations import FEWEST, KEPT, OperationWindow, synchronises
from rankscope.vocabulary import operations
from rankscope.vocabulary.operations import MemberOperation
from rankscope.vocabulary.samples import Event, TelemetryResource


@pytest.fixture
def held():
    return OperationWindow()


def event(member, *rows, group="world:1", source="inspector", host=None, **pairs):
    attributes = {"rank": member, "group": group, "source": source,
                  "text": operations.encode(rows)} | pairs  # fmt: skip
    resource = TelemetryResource(host or f"host-{member // 2}", "run-1")
    return Event(operations.EVENT, 100.0, attributes, resource)


def ended(sequence, at=None, seconds=None, op="AllReduce"):
    return MemberOperation(op, sequence, 1024, None, at, seconds)


def test_an_operation_is_held_by_group_kind_number_and_rank(held):
    held.take(event(0, ended(10, seconds=0.5)))
    held.take(event(1, ended(10, seconds=0.2), ended(20, seconds=0.1)))
    (_, op, newest, alone), (_, _, older, both) = held.numbers("world:1")
    assert ("AllReduce", 20, 10) == (op, newest, older)
    assert ([1], [0, 1]) == (sorted(alone), sorted(both))
    assert (1024, 0.5, "host-0") == (both[0].size, both[0].seconds, both[0].host)
    assert [] == held.numbers("dp:2")


def test_the_last_to_come_is_as_late_as_the_longest_wait(held):
    for sequence in (10, 20, 30):
        held.take(event(0, ended(sequence, seconds=0.5)))
        held.take(event(1, ended(sequence, seconds=0.1 + sequence / 1000)))
        held.take(event(2, ended(sequence, seconds=0.5, op="Broadcast")))
        held.take(event(3, ended(sequence, seconds=0.1, op="Broadcast")))
    late = {(op, rank): seconds for (_, op, rank), seconds in held.lateness().items()}
    assert {("AllReduce", 0): 0.0, ("AllReduce", 1): 0.38} == pytest.approx(late)


def test_clocks_are_apart_by_when_their_hosts_saw_the_same_collectives_end(held):
    for number in range(1, 10):
        wobble = 0.002 * (number % 3 - 1)
        for rank, ahead in ((0, 0.0), (2, 0.0), (4, 0.25 + wobble)):
            held.take(event(rank, ended(number, at=1000.0 + number + ahead)))
    first, second, third = held.clock_offsets()
    assert (0.0, 0.0) == (first.seconds, second.seconds)
    assert 0.25 == pytest.approx(third.seconds, abs=1e-6)
    assert 9 == third.collectives
    assert 0.001 <= third.uncertainty_seconds <= 0.01


def test_ends_that_are_polled_are_no_more_exact_than_the_poll(held):
    for rank in (0, 2):
        held.take(event(rank, ended(1, at=1000.0, op="all_reduce"), source="flight_recorder"))
    assert [0.1, 0.1] == [one.uncertainty_seconds for one in held.clock_offsets()]


def test_one_host_alone_says_nothing_of_clocks(held):
    for rank in (0, 1):
        held.take(event(rank, ended(1, at=1000.0)))
    assert [] == held.clock_offsets()


def test_the_newest_numbers_are_held_whatever_order_they_come_in(held):
    for number in [*range(100, 200), 150, 3, *range(120, 130)]:
        held.take(event(0, ended(number)))
    numbers = [number for _, _, number, _ in held.numbers()]
    assert KEPT == len(numbers)
    assert sorted(numbers, reverse=True) == numbers
    assert numbers[0] == 199


def test_of_many_ranks_fewer_numbers_are_held(held, monkeypatch):
    monkeypatch.setattr("rankscope.collector.windows.operations.MOST_ENTRIES", 100)
    for number in range(10):
        for rank in range(40):
            held.take(event(rank, ended(number)))
    assert FEWEST == len(held.numbers())


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[1]", '[["a",-1,1,1,1,1]]', "[" * 50_000, json.dumps([["a", 1, 1, 1, 1, 1]] * 200)],
    ids=["empty", "mapping", "number", "negative", "deep", "too many"],
)
def test_what_is_no_list_of_operations_is_counted(text, held):
    held.take(event(0, text=text))
    assert 1 == held.malformed
    assert [] == held.numbers()


def test_a_member_without_a_rank_or_group_is_counted(held):
    held.take(event(0, ended(1), rank="x"))
    held.take(event(0, ended(1), group=None))
    assert 2 == held.malformed


def test_values_that_are_no_times_are_unknown(held):
    held.take(event(0, text='[["AllReduce",1,true,"x",-1,NaN]]'))
    ((_, _, _, number),) = held.numbers()
    assert (None, None, None, None) == (
        number[0].size, number[0].enqueued_at, number[0].completed_at, number[0].seconds
    )  # fmt: skip


def test_it_outlives_a_snapshot(held):
    held.take(event(0, ended(1, seconds=0.5)))
    again = pickle.loads(pickle.dumps(held))  # noqa: S301  our own
    assert held.numbers() == again.numbers()


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        ("AllReduce", True),
        ("_all_gather_base", True),
        ("reduce_scatter", True),
        ("barrier", True),
        ("Broadcast", False),
        ("reduce", False),
    ],
)
def test_kinds_that_let_nobody_go_before_all_have_come(op, expected):
    assert expected == synchronises(op)
