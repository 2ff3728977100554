import itertools
import json

import pytest

from bench import otlp_lines
from bench.randomised import cases, changing, drawing, requests
from bench.randomised.drawing import HostHabit
from bench.randomised.requests import SentRequest

BEGIN = 1_796_000_000.0
SECONDS = 600


def _request(host, at, values):
    """Return a request of a host with values by metric, each of one series."""
    resource = otlp_lines.resource_text([("host.name", host)])
    points = {
        metric: [
            otlp_lines.point_text(
                otlp_lines.point_head(otlp_lines.attributes_text(named.items())), at, value
            )
        ]
        for metric, (named, value) in values.items()
    }
    return SentRequest(json.loads(otlp_lines.metrics_request([(resource, points)])), host, at)


def _sent(host="a"):
    """Return ten minutes of a host that reads everything every five seconds."""
    device, trainer = {"hw.id": "GPU-0"}, {"pid": 7, "role": "trainer"}
    return [
        _request(
            host,
            BEGIN + at,
            {
                "training.step": ({"rank": 0}, float(at)),
                "hw.power": (device, 400.0),
                "hw.power.limit": (device, 700.0),
                "hw.gpu.pcie.replays": (device, 10.0 + at),
                "hw.gpu.process.memory": (device | {"pid": 7}, 1e9),
                "process.memory.private": (trainer, 1e9),
                "system.memory.usage": ({}, 1e11),
            },
        )
        for at in range(0, SECONDS, 5)
    ]


def _with(habit, amount=1.0, *, begin=100.0, end=200.0, family="hw.", sent=None):
    row = HostHabit(habit, "a", amount, BEGIN + begin, BEGIN + end, family, seed=3)
    return changing.changed(_sent() if sent is None else sent, [row])


def _values(found, metric):
    """Return (seconds since the begin, value) of a metric, as they arrive."""
    return [
        (round(requests.seconds(point) - BEGIN, 3), float(point["asDouble"]))
        for one in found
        for row in one.metrics
        if row["name"] == metric
        for point in requests.points(row)
    ]


def test_a_restarted_agent_sends_nothing_meanwhile_and_everything_again():
    times = {at for at, _ in _values(_with("agent_restart"), "training.step")}
    assert times == {at for at in range(0, SECONDS, 5) if not 100 <= at < 200}


def test_a_family_that_vanishes_takes_no_other_with_it():
    found = _with("vanishing_series")
    assert 100 == len(_values(found, "hw.power"))
    assert 120 == len(_values(found, "training.step")) == len(_values(found, "system.memory.usage"))


def test_a_slow_exporter_reads_one_family_seldom():
    found = _with("slow_exporter", 60.0)
    gaps = [at for at, _ in _values(found, "hw.power")]
    assert len(gaps) <= SECONDS / 60 + 1
    assert min(b - a for a, b in itertools.pairwise(gaps)) > 5
    assert 120 == len(_values(found, "process.memory.private"))


def test_a_partial_scrape_loses_no_word_of_the_ranks():
    found = _with("partial_scrapes", 0.5)
    assert 120 == len(_values(found, "training.step")) > len(_values(found, "hw.power"))


def test_a_request_that_comes_twice_is_the_same_and_later():
    found = _with("duplicates", 0.5)
    steps = _values(found, "training.step")
    assert 120 < len(steps)
    assert 120 == len(set(steps))
    assert steps != sorted(steps)


def test_what_is_held_back_comes_late_and_in_its_order():
    found = _with("late_data", 40.0)
    late = [
        one.at - BEGIN - at for one, (at, _) in zip(found, _values(found, "hw.power"), strict=True)
    ]
    assert 40.0 == max(late)
    assert 0.0 == late[0] == late[-1]
    assert [at for at, _ in _values(found, "hw.power")] == list(range(0, SECONDS, 5))


def test_what_is_held_back_on_one_host_comes_after_what_others_sent_meanwhile():
    found = _with("late_data", 40.0, sent=[*_sent(), *_sent("b")])
    order = [one.host for one in found if 150 < one.at - BEGIN < 200]
    assert {"a", "b"} == set(order)
    newest = {"a": 0.0, "b": 0.0}
    behind = []
    for one in found:
        newest[one.host] = max(
            map(requests.seconds, (p for m in one.metrics for p in requests.points(m)))
        )
        behind.append(newest["b"] - newest["a"])
    assert max(behind) >= 40.0


def test_counters_of_a_family_begin_at_nought_and_count_on():
    values = dict(_values(_with("counter_reset"), "hw.gpu.pcie.replays"))
    assert (10.0 + 95, 5.0, 10.0) == (values[95], values[100], values[105])


def test_a_clock_that_steps_shows_other_times_and_sends_when_it_did():
    found = _with("clock_step", 0.05)
    at = [at for at, _ in _values(found, "hw.power")]
    assert 0.05 == pytest.approx(abs(at[-1] - (SECONDS - 5)))
    assert 0 == at[0]
    assert [one.at for one in found] == [one.at for one in _sent()]


def test_memory_that_fills_at_the_start_stops_to_grow_and_is_the_hosts_too():
    found = _with("startup_growth", 60.0, begin=0.0, end=100.0)
    own = [value for _, value in _values(found, "process.memory.private")]
    whole = [value for _, value in _values(found, "system.memory.usage")]
    assert own[12] - own[0] == pytest.approx(whole[12] - whole[0])
    assert own[12] - own[0] > 40 * 2**20
    assert own[-1] - own[-13] < 0.01 * (own[-1] - own[0])
    assert own[-1] - own[0] < 101 * 2**20


def test_a_cap_moves_only_where_no_device_would_feel_it():
    found = _with("moving_caps", 0.2)
    assert {700.0, 560.0} == {value for _, value in _values(found, "hw.power.limit")}
    pressed = _with("moving_caps", 0.45)
    assert {700.0} == {value for _, value in _values(pressed, "hw.power.limit")}


def test_a_context_of_nobodys_is_another_process_on_the_same_device():
    found = _with("foreign_context", 300.0)
    foreign = [at for at, value in _values(found, "hw.gpu.process.memory") if value == 300 * 2**20]
    assert foreign == list(range(100, 200, 5))


def test_a_point_without_attributes_is_a_series_of_its_own():
    """OTLP leaves an empty list out, as of what a host reports of itself."""
    assert "system.memory.limit []" == requests.series({"name": "system.memory.limit"}, {})
    assert "" == requests.attribute({}, "system.memory.state")


def test_the_same_seed_draws_the_same_and_every_habit_occurs():
    hosts = ["a", "b", "c", "d"]
    drawn = [drawing.drawn(seed, "case", hosts, BEGIN, BEGIN + SECONDS) for seed in range(40)]
    assert drawn[3] == drawing.drawn(3, "case", hosts, BEGIN, BEGIN + SECONDS)
    assert {row.id for row in drawing.habits()} == {row.id for rows in drawn for row in rows}
    assert all(BEGIN <= row.begin <= BEGIN + SECONDS for rows in drawn for row in rows)


def test_a_case_is_written_with_what_was_drawn_and_says_how_long_it_is(tmp_path):
    source = tmp_path / "quiet-00"
    source.mkdir()
    otlp_lines.write(source / "case.jsonl.gz", (one.text for one in _sent()))
    (source / "truth.json").write_text('{"id": "quiet-00", "fault": null}', encoding="utf-8")
    for folder in ("one", "two"):
        cases.make(source, tmp_path / folder, seed=4)
    truth = json.loads((tmp_path / "one" / "truth.json").read_text(encoding="utf-8"))
    assert ("quiet-00", 10) == (truth["id"], round(truth["minutes"]))
    assert truth["randomised"]
    assert {"a"} == {row["host"] for row in truth["randomised"]}
    one, two = ((tmp_path / folder / "case.jsonl.gz").read_bytes() for folder in ("one", "two"))
    assert one == two != (source / "case.jsonl.gz").read_bytes()
