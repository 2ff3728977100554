"""The checks of a node in turn: within their time, beside no job, and whatever one of them does."""

import socket
import threading
from collections import Counter

import pytest

from rankscope.checks import node_checks
from rankscope.checks.jobs import RunningTrainer
from rankscope.checks.judging import ComparedValues, JudgedCheck
from rankscope.checks.measurements.rows import MeasuredRow, joined
from rankscope.checks.node_checks import CheckPlan
from rankscope.vocabulary.checks import runnable


class Jobs:
    """Says that a job runs from the so-manyth question on."""

    def __init__(self, since=None):
        self.since, self.asked = since, 0

    def first(self):
        self.asked += 1
        running = self.since is not None and self.asked > self.since
        return RunningTrainer(41, "train") if running else None

    def everyone(self):
        return [RunningTrainer(41, "train", 3)]


class Measured:
    """Gives a row a check, and notes in which order and time they were asked for."""

    def __init__(self, rows=None, takes=1.0):
        self.rows, self.takes, self.asked, self.now = rows or {}, takes, [], 0.0

    def __call__(self, order, *, most_seconds, yielding):
        self.asked.append((order.check, most_seconds))
        self.now += self.takes
        return self.rows.get(order.check, [MeasuredRow("cpu", (100.0,) * 5, "model")])


def run(measured, *, jobs=None, fleet=node_checks.nobody, **plan):
    return node_checks.check(
        CheckPlan(**{"host": "here", **plan}),
        watch=jobs or Jobs(),
        fleet=fleet,
        measure=measured,
        now=lambda: measured.now,
    )


def test_every_check_has_a_result_in_the_order_of_the_table():
    results = run(Measured())
    assert list(runnable()) == [row.check for row in results]


def test_those_that_are_asked_for_run_alone():
    measured = Measured()
    results = run(measured, only=("matmul", "cpu"))
    assert ["cpu", "matmul"] == [row.check for row in results]
    assert ["cpu", "matmul"] == [name for name, _ in measured.asked]


def test_none_takes_more_than_its_own_time_or_what_is_left_of_all():
    measured = Measured(takes=5.0)
    run(measured, only=("cpu", "matmul", "memory_bandwidth"), seconds=12.0)
    assert [("cpu", 8.0), ("matmul", 7.0), ("memory_bandwidth", 2.0)] == measured.asked


def test_what_there_is_no_time_for_says_so():
    results = run(Measured(takes=50.0), only=("cpu", "matmul"), seconds=40.0)
    assert "not_measured" == results[1].verdict
    assert "--seconds" in results[1].reason


def test_beside_a_job_only_what_disturbs_nobody_is_measured():
    measured = Measured()
    results = run(measured, jobs=Jobs(since=0), only=("dns", "matmul"))
    assert ["dns"] == [name for name, _ in measured.asked]
    assert "a training process runs here (pid 41, train)" in results[1].reason


def test_somebody_who_asks_for_it_measures_beside_a_job():
    measured = Measured()
    run(measured, jobs=Jobs(since=0), only=("matmul",), beside_jobs=True)
    assert ["matmul"] == [name for name, _ in measured.asked]


def test_a_job_that_starts_meanwhile_has_the_node_to_itself():
    measured = Measured()
    results = run(measured, jobs=Jobs(since=1), only=("cpu", "matmul"))
    assert ["cpu"] == [name for name, _ in measured.asked]
    assert "not_measured" == results[1].verdict


def test_a_fleet_that_knows_the_kind_is_compared_with():
    def fleet(check, kind):
        assert ("cpu", "model") == (check, kind)
        return ComparedValues((120.0,) * 6, "6 hosts")

    (result,) = run(Measured(), only=("cpu",), fleet=fleet)
    assert ("slow", "6 hosts") == (result.verdict, result.compared_with)


def test_a_device_is_compared_with_those_beside_it():
    rows = [MeasuredRow(f"GPU-{n}", (100.0 if n else 80.0,) * 5, "model") for n in range(8)]
    results = run(Measured({"matmul": rows}), only=("matmul",))
    assert ["slow"] + ["pass"] * 7 == [row.verdict for row in results]


class Settling(Measured):
    """Gives samples that are far apart, and at the next look many more that are not."""

    def __call__(self, order, **bounds):
        super().__call__(order, **bounds)
        looks = sum(name == order.check for name, _ in self.asked)
        width = 20.0 if looks == 1 else 0.0
        samples = tuple(90.0 + width * (-1) ** number for number in range(8 * looks**2))
        return [MeasuredRow("cpu", samples, "model")]


def of_hundred(_check: str, _kind: str) -> ComparedValues:
    return ComparedValues((100.0,) * 6, "6 hosts")


def test_what_its_repeats_left_open_is_measured_again_until_it_is_decided() -> None:
    measured = Settling()
    (result,) = run(measured, only=("cpu",), fleet=of_hundred)
    assert ["cpu"] * 2 == [name for name, _ in measured.asked]
    assert ("slow", 90.0) == (result.verdict, result.value)


class Disturbed(Measured):
    """Is slow for as long as a neighbour takes, which is one look."""

    def __call__(self, order, **bounds):
        super().__call__(order, **bounds)
        return [MeasuredRow("cpu", (85.0 if len(self.asked) == 1 else 100.0,) * 8, "model")]


def test_what_seems_slow_is_measured_once_more_before_it_is_said() -> None:
    measured = Disturbed()
    (result,) = run(measured, only=("cpu",), fleet=of_hundred)
    assert ["cpu"] * 3 == [name for name, _ in measured.asked]
    assert ("not_measured", 100.0) == (result.verdict, result.value)
    steady = Measured()
    run(steady, only=("cpu",), fleet=lambda *_: ComparedValues((120.0,) * 6, "6 hosts"))
    assert ["cpu"] * 2 == [name for name, _ in steady.asked]


def test_what_there_is_no_time_to_measure_again_stays_open() -> None:
    measured = Settling(takes=5.0)
    (result,) = run(measured, only=("cpu",), fleet=of_hundred, seconds=12.0)
    assert ["cpu"] == [name for name, _ in measured.asked]
    assert "not_measured" == result.verdict
    assert "its repeats differ too much to tell: it would have seen" in result.reason


def test_rows_of_one_device_are_joined_and_a_failure_of_the_second_look_is_a_failure() -> None:
    first = [MeasuredRow("a", (1.0,), "k", others=0.2), MeasuredRow("b", (3.0,), "k")]
    again = [MeasuredRow("a", (2.0,), "k", others=0.6), MeasuredRow("b", missing="in use")]
    assert [MeasuredRow("a", (1.0, 2.0), "k", others=0.4), first[1]] == joined(first, again)
    failed = [MeasuredRow("", failed="it was killed by SIGKILL")]
    assert failed == joined(first, failed)


def test_a_peer_that_is_not_there_leaves_the_other_checks_alone():
    results = run(
        Measured({"clock": [MeasuredRow("clock", missing="nobody sets it; --peer")]}),
        only=("clock", "cpu", "all_reduce_pair"),
        peer="nobody.invalid",
    )
    by_name = {row.check: row for row in results}
    assert "nobody.invalid is not resolved" in by_name["all_reduce_pair"].reason
    assert "nobody.invalid is not resolved" in by_name["clock"].reason
    assert by_name["cpu"].value == pytest.approx(100.0)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def side_by_side(mine, theirs, *names, busy=None):
    """Return the results of two hosts that check each other, by host and check."""
    ports = (free_port(), free_port())
    found: dict[int, dict[str, JudgedCheck]] = {}

    def one(number, measured):
        results = run(
            measured,
            jobs=busy if number else None,
            only=names,
            host=f"host-{number}",
            peer="127.0.0.1",
            own_port=ports[number],
            peer_port=ports[1 - number],
        )
        found[number] = {row.check: row for row in results}

    threads = [
        threading.Thread(target=one, args=(number, measured))
        for number, measured in enumerate((mine, theirs))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return found[0], found[1]


def test_two_hosts_compare_what_they_measured_in_the_same_minute():
    slow = Measured({"matmul": [MeasuredRow("cpu", (80.0,) * 5, "model")]})
    mine, theirs = side_by_side(slow, Measured(), "clock", "matmul")
    assert ("slow", "host-1 in the same minute") == (
        mine["matmul"].verdict,
        mine["matmul"].compared_with,
    )
    assert "pass" == theirs["matmul"].verdict
    assert "pass" == mine["clock"].verdict == theirs["clock"].verdict


def test_what_one_of_two_hosts_cannot_tell_yet_both_measure_again() -> None:
    restless, steady = Settling(), Measured()
    mine, theirs = side_by_side(restless, steady, "cpu", "matmul")
    for host in (restless, steady):
        assert {"cpu": 2, "matmul": 2} == Counter(name for name, _ in host.asked)
    assert "slow" == mine["cpu"].verdict
    assert "pass" == theirs["cpu"].verdict


def test_devices_of_another_kind_are_not_compared():
    other = Measured({"matmul": [MeasuredRow("cpu", (80.0,) * 5, "another model")]})
    mine, theirs = side_by_side(other, Measured(), "matmul")
    assert "not_measured" == mine["matmul"].verdict == theirs["matmul"].verdict


def test_both_run_the_all_reduce_with_one_store_that_one_of_them_keeps():
    orders = []

    class Noting(Measured):
        def __call__(self, order, **bounds):
            orders.append(order)
            return super().__call__(order, **bounds)

    mine, theirs = side_by_side(Noting(), Noting(), "all_reduce_pair")
    one, other = orders
    assert {True, False} == {one.first, other.first}
    assert one.store == other.store > 0
    assert mine["all_reduce_pair"].value == theirs["all_reduce_pair"].value


def test_where_a_job_runs_on_one_of_them_neither_waits_for_the_other():
    mine, theirs = side_by_side(
        Measured(), Measured(), "dns", "all_reduce_pair", busy=Jobs(since=2)
    )
    for results in (mine, theirs):
        assert "not_measured" == results["all_reduce_pair"].verdict
