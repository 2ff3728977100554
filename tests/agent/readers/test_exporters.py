import gzip
import json
from pathlib import Path

import pytest

from rankscope.agent.health import AgentHealth
from rankscope.agent.readers.exporters import ExporterReader
from rankscope.agent.settings import ExportersSettings as Settings
from rankscope.agent.settings import ExporterTargetSettings
from rankscope.vocabulary.samples import Event

from ..exporters.serving import serving

FIXTURES = Path(__file__).parents[2] / "fixtures" / "exporters"
START = 1_700_000_000.0
POWER = 'DCGM_FI_DEV_POWER_USAGE{gpu="0",UUID="GPU-1"} %s\n'
XID = 'DCGM_FI_DEV_XID_ERRORS{gpu="0",UUID="GPU-1"} %d\n'


@pytest.fixture
def exporter():
    with serving() as one:
        yield one


@pytest.fixture
def another():
    with serving() as one:
        yield one


class Rig:
    """A reader with a clock of its own, and what came of it."""

    def __init__(self, *urls, state=None, settings=None, **more):
        self.health = AgentHealth()
        self.events: list[Event] = []
        self.now = START
        targets = tuple(
            url if isinstance(url, ExporterTargetSettings) else ExporterTargetSettings(url=url)
            for url in urls
        )
        self.reader = ExporterReader(
            period=5.0,
            settings=Settings(targets=targets, **(settings or {})),
            emit=self.events.append,
            health=self.health,
            state=state,
            **more,
        )

    def read(self):
        """Read once, and wait for every page, however slow this machine is."""
        self.now += 5.0
        samples = self.reader.read(self.now)
        for watch in self.reader._watches:
            assert watch.wait(60)
        return samples

    def settled(self):
        """Read until what was asked for has been handed over."""
        self.read()
        return self.read()

    def source(self):
        return self.reader._watches[0].target.source

    def failures(self):
        values = {one.name: told for one, told in self.health.everything(self.now)}
        return {key[1]: n for key, n in values["rankscope_agent_exporter_failures_total"].items()}

    def shown(self, name):
        return {one.name: told for one, told in self.health.everything(self.now)}[
            f"rankscope_agent_{name}"
        ]


@pytest.fixture
def rig():
    made = []

    def make(*urls, **more):
        made.append(Rig(*urls, **more))
        return made[-1]

    yield make
    for one in made:
        one.reader.close()
        for watch in one.reader._watches:
            watch.target._client.close()


def watts(samples):
    return [one.value for one in samples if one.metric == "hw.power"]


def test_without_targets_it_says_what_to_write(rig):
    supported, reason = rig().reader.supported()
    assert not supported
    assert "exporters.targets" in reason
    assert rig().reader.read(START) == []


@pytest.mark.parametrize(
    "page", sorted(path.stem for path in FIXTURES.glob("*.prom")), ids=lambda page: page
)
def test_a_vendors_exporter_is_recognised_and_read(page, exporter, rig):
    exporter.says(gzip.compress((FIXTURES / f"{page}.prom").read_bytes()), Content_Encoding="gzip")
    one = rig(exporter.url)
    samples = one.settled()
    assert len(samples) > 8
    assert {sample.at for sample in samples} == {one.now}
    assert one.shown("source_up") == {(one.source(),): 1}
    # What is wrong now is told at once; a code that merely stands there is no news.
    expected = (FIXTURES / f"{page}.expected").read_text().splitlines()
    wrong_now = {line.split()[2] for line in expected if line.endswith(" present")}
    assert {event.attributes["code"] for event in one.events} == wrong_now


def test_a_new_fault_is_told_once(exporter, rig):
    exporter.says(XID % 0)
    one = rig(exporter.url)
    one.settled()
    exporter.says(XID % 79)
    one.settled()
    assert [dict(event.attributes) for event in one.events] == [
        {
            "hw.id": "GPU-1",
            "gpu": 0,
            "code": "79",
            "vendor": "nvidia",
            "text": "XID 79, reported by dcgm-exporter",
            "source": "exporter",
        }
    ]


def test_a_fault_that_the_driver_told_us_itself_is_not_told_again(exporter, rig):
    exporter.says(XID % 0)
    one = rig(exporter.url, native=lambda hw_id: hw_id == "GPU-1")
    one.settled()
    exporter.says(XID % 79)
    one.settled()
    assert one.events == []


def test_what_was_known_of_faults_outlives_the_agent(exporter, rig, tmp_path):
    exporter.says(XID % 13)
    one = rig(exporter.url, state=tmp_path)
    one.settled()
    one.reader.close()
    kept = json.loads((tmp_path / "exporters.json").read_text())
    assert list(kept) == [exporter.url]
    exporter.says(XID % 79)
    again = rig(exporter.url, state=tmp_path)
    again.settled()
    assert [event.attributes["code"] for event in again.events] == ["79"]


@pytest.mark.parametrize("text", ["", "[]", "{]", '{"x": 1}'])
def test_a_state_that_cannot_be_read_is_none(text, exporter, rig, tmp_path):
    (tmp_path / "exporters.json").write_text(text)
    exporter.says(POWER % 100)
    assert watts(rig(exporter.url, state=tmp_path).settled()) == [100.0]


@pytest.mark.parametrize(
    ("body", "more", "reason"),
    [
        ("<html><body>login</body></html>", {"kind": "text/html"}, "not_metrics"),
        ("go_goroutines 5\nnode_load1 0.5\n", {}, "unknown_exporter"),
        ("busy", {"status": 503}, "http_503"),
        ("flood 1\n" * 20_000, {}, "too_large"),
    ],
)
def test_a_bad_answer_is_counted_by_its_reason_and_the_next_good_one_is_read(
    body,
    more,
    reason,
    exporter,
    rig,
):
    exporter.says(body, **more)
    one = rig(exporter.url, settings={"max_bytes": 100_000})
    assert one.settled() == []
    assert one.failures() == {reason: 2.0}
    assert one.shown("source_up") == {(one.source(),): 0}
    exporter.says(POWER % 100)
    assert watts(one.settled()) == [100.0]
    assert one.shown("source_up") == {(one.source(),): 1}


def test_half_a_line_and_twice_the_same_are_counted_and_the_rest_is_read(exporter, rig):
    exporter.says(POWER % 100 + POWER % 200 + 'DCGM_FI_DEV_GPU_TEMP{gpu="0",UU\n' + XID % 0)
    one = rig(exporter.url)
    assert watts(one.settled()) == [100.0]
    problems = {key[1]: count for key, count in one.shown("exporter_problems_total").items()}
    assert problems["duplicate"] >= 1
    assert problems["bad_line"] >= 1


def test_a_silent_exporter_keeps_nobody_waiting_and_its_values_vanish(
    exporter,
    another,
    rig,
):
    exporter.says(POWER % 100)
    another.says('dcu_power_usage{minor_number="0",device_id="H"} 50\n')
    one = rig(exporter.url, another.url, settings={"timeout_seconds": 0.3})
    assert sorted(watts(one.settled())) == [50.0, 100.0]
    exporter.drips(b"", b"")
    seen = [sorted(watts(one.read())) for _ in range(6)]
    assert seen[0] == [50.0, 100.0]
    assert seen[-1] == [50.0]
    assert one.failures()["timeout"] >= 3
    one.reader.close()


def test_values_are_not_told_anew_while_nothing_new_is_said(exporter, rig):
    exporter.says(POWER % 100)
    one = rig(exporter.url)
    one.settled()
    exporter.says("busy", status=503)
    one.read()
    assert one.read() == []


def test_of_two_exporters_with_one_device_the_first_is_read(exporter, another, rig):
    exporter.says(POWER % 100)
    another.says(POWER % 200 + 'DCGM_FI_DEV_POWER_USAGE{gpu="1",UUID="GPU-2"} 300\n' + XID % 0)
    one = rig(exporter.url, another.url)
    one.settled()
    assert sorted(watts(one.settled())) == [100.0, 300.0]
    problems = {key[1]: count for key, count in one.shown("exporter_problems_total").items()}
    assert problems["read_elsewhere"] >= 1
    another.says(POWER % 200 + XID % 79)
    one.settled()
    assert one.events == []
    exporter.says("gone", status=404)
    for _ in range(6):
        one.read()
    assert watts(one.settled()) == [200.0]


def test_an_agents_own_page_is_refused(exporter, rig):
    exporter.says('rankscope_agent_info{version="1"} 1\n' + POWER % 100)
    one = rig(exporter.url)
    assert one.settled() == []
    assert one.failures() == {"ourselves": 2.0}
    assert one.shown("double_names") == {(): 1}


def test_reading_what_is_shown_twice_is_warned_of(exporter, rig, caplog):
    exporter.says(POWER % 100)
    plain = rig(exporter.url)
    plain.settled()
    assert plain.shown("double_names") == {(): 0}
    doubling = rig(exporter.url, dcgm_names_shown=True)
    assert watts(doubling.settled()) == [100.0]
    assert doubling.shown("double_names") == {(): 1}
    assert "every sum over both doubles" in caplog.text


def test_another_exporter_at_the_same_address_is_recognised(exporter, rig):
    exporter.says(POWER % 100)
    one = rig(exporter.url)
    one.settled()
    exporter.says('dcu_power_usage{minor_number="0",device_id="H"} 50\n')
    for _ in range(20):
        one.read()
    assert watts(one.settled()) == [50.0]


def test_vendor_prefix_and_table_are_the_operators_to_say(exporter, rig, tmp_path):
    table = tmp_path / "site.toml"
    table.write_text('[[row]]\nname = "powerUsage"\nunit = "mW"\nmetric = "hw.power"\n')
    exporter.says('site_powerUsage{card="0"} 90000\n')
    target = ExporterTargetSettings(url=exporter.url, vendor="kunlun", prefix="site_", table=table)
    assert watts(rig(target).settled()) == [90.0]


def test_an_error_of_our_own_costs_one_page_and_not_the_thread(exporter, rig, monkeypatch):
    exporter.says(POWER % 100)
    one = rig(exporter.url)
    target = one.reader._watches[0].target
    monkeypatch.setattr(target, "_page", lambda now: 1 / 0)
    one.settled()
    assert one.failures() == {"internal": 2.0}
    monkeypatch.undo()
    assert watts(one.settled()) == [100.0]


@pytest.mark.parametrize(
    ("key", "value", "complaint"),
    [
        ("url", "127.0.0.1:9400", "write http://HOST:PORT/metrics"),
        ("url", "http://user:secret@host/metrics", "write http://HOST:PORT/metrics"),
        ("vendor", "enflame", "nvidia"),
        ("table", "/none.toml", "needs vendor"),
    ],
)
def test_a_bad_target_says_what_to_write(key, value, complaint):
    with pytest.raises(ValueError, match=complaint) as caught:
        ExporterTargetSettings(**{"url": "http://127.0.0.1:9400/metrics", key: value})
    assert "secret" not in str(caught.value)


def test_a_table_of_ones_own_is_checked_at_the_start(tmp_path):
    table = tmp_path / "site.toml"
    table.write_text('[[row]]\nname = "x"\nmetric = "hw.powr"\n')
    with pytest.raises(ValueError, match=r"no metric hw\.powr"):
        ExporterTargetSettings(url="http://127.0.0.1:9400/metrics", vendor="amd", table=table)


def test_targets_of_one_host_are_told_apart_without_secrets(rig):
    one = rig("https://node:9400/metrics", "http://node/m?key=secret")
    sources = [watch.target.source for watch in one.reader._watches]
    assert sources == ["exporter:node:9400", "exporter:node:80/m"]


def test_of_a_device_that_we_ask_ourselves_only_what_we_do_not_have_is_taken(rig, exporter):
    has = {"GPU-1": {"hw.power", "hw.gpu.info"}}
    exporter.says(POWER % 612 + 'DCGM_FI_PROF_SM_ACTIVE{gpu="0",UUID="GPU-1"} 0.5\n')
    one = rig(exporter.url, native_metrics=lambda hw_id: has.get(hw_id, ()))
    assert {"hw.gpu.sm.activity"} == {sample.metric for sample in one.settled()}
    has.clear()  # it answers us no more
    assert "hw.power" in {sample.metric for sample in one.settled()}
