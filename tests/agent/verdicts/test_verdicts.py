import contextlib
import json

import pytest

from rankscope.agent import readers
from rankscope.agent.devices import Device, Devices
from rankscope.agent.verdicts import Verdicts, ask_to_clear
from rankscope.vocabulary import device_faults
from rankscope.vocabulary.samples import Event, Sample, attributes

T = 1_000_000.0


def fault(code="79", at=T, hw_id="GPU-a", **more):
    pairs = {"hw.id": hw_id, "code": code, "vendor": "nvidia", "text": f"XID {code}", **more}
    return Event("gpu.fault", at, {"source": "kmsg", **pairs})


@pytest.fixture
def make(tmp_path):
    """Start an agent's verdicts; `boot` is the boot it finds itself in."""

    def start(boot="boot-1", now=T, **more):
        return Verdicts(boot_id=boot, now=now, **{"state": tmp_path, **more})

    return start


def test_a_fault_leaves_with_class_and_actions_and_opens_a_verdict(make):
    verdicts = make()
    told = verdicts.take(fault(pid=7), T)
    assert told is not None
    assert ("fatal", "RESTART_BM", "CONTACT_SUPPORT", 1, 7, "GPU-a") == tuple(
        told.attributes[key] for key in ("class", "action", "investigate", "count", "pid", "hw.id")
    )
    (verdict,) = verdicts.open()
    assert ("GPU-a", "79", "fatal", 1, "boot-1", "reboot", 7) == (
        verdict.hw_id, verdict.code, verdict.fault_class, verdict.count, verdict.boot_id,
        verdict.cleared_by, verdict.pid,
    )  # fmt: skip
    assert ["gpud", "NVSentinel"] == [one.tool for one in verdict.others]
    assert "failed" == verdicts.status("GPU-a")


def test_other_events_pass_as_they_are(make):
    event = Event("host.oom_kill", T, {"pid": 1})
    assert make().take(event, T) is event


def test_one_fault_told_by_two_sources_is_one_event_and_one_verdict_with_both(make):
    verdicts = make()
    assert verdicts.take(fault(), T) is not None
    assert verdicts.take(fault(at=T + 1.5, source="nvml", text="event"), T + 1.5) is None
    (verdict,) = verdicts.open()
    assert 1 == verdict.count
    assert ["kmsg", "nvml"] == [one.source for one in verdict.evidence]
    assert [] == verdicts.tick(T + 61)


def test_one_source_alone_counts_every_occurrence_and_the_other_adds_none(make):
    verdicts = make()
    for number in range(5):
        verdicts.take(fault("31", T + number), T + number)
        verdicts.take(fault("31", T + number + 0.3, source="nvml"), T + number + 0.3)
    (verdict,) = verdicts.open()
    assert 5 == verdict.count
    (summary,) = verdicts.tick(T + 61)
    assert 4 == summary.attributes["count"]
    assert summary.at == verdicts.open()[0].last_seen, "the time of the last one, not of the count"
    assert "application" == summary.attributes["class"]


def test_what_follows_from_a_fall_off_the_bus_is_its_evidence_and_no_event(make):
    verdicts = make()
    assert verdicts.take(fault("79"), T) is not None
    assert verdicts.take(fault("nvml.lost", T + 1, source="nvml", text="lost"), T + 1) is None
    assert verdicts.take(fault("pci.gone", T + 3, source="pci", text="gone"), T + 3) is None
    (verdict,) = verdicts.open()
    assert ("79", 1) == (verdict.code, verdict.count)
    assert ["kmsg", "nvml", "pci"] == [one.source for one in verdict.evidence]
    assert verdicts.take(fault("nvml.lost", T + 1, hw_id="GPU-b"), T + 1) is not None
    assert verdicts.take(fault("nvml.lost", T + 300), T + 300) is not None


def test_a_fall_told_after_its_consequence_is_told_all_the_same(make):
    verdicts = make()
    assert verdicts.take(fault("nvml.lost", source="nvml"), T) is not None
    assert verdicts.take(fault("79", T + 1), T + 1) is not None


def test_an_exporter_that_comes_late_adds_neither_an_event_nor_a_count(make):
    verdicts = make()
    verdicts.take(fault("94"), T)
    assert verdicts.take(fault("94", T + 45, source="exporter"), T + 45) is None
    assert [] == verdicts.tick(T + 61)
    assert 1 == verdicts.open()[0].count
    verdicts.take(fault("94", T + 100), T + 100)
    verdicts.take(fault("94", T + 130, source="exporter"), T + 130)
    assert 2 == verdicts.open()[0].count


def test_an_occurrence_that_only_one_source_saw_is_not_lost_to_the_others_count(make):
    verdicts = make()
    for number in range(3):
        verdicts.take(fault("31", T + number / 10), T)
    assert verdicts.take(fault("31", T + 3600, source="nvml"), T + 3600) is not None
    assert 4 == verdicts.open()[0].count


def test_a_storm_is_one_event_and_a_summary_and_a_different_code_is_told(make):
    verdicts = make()
    told = [verdicts.take(fault("95", T + n / 1000), T + n / 1000) for n in range(1000)]
    assert 1 == sum(one is not None for one in told)
    assert verdicts.take(fault("79", T + 1), T + 1) is not None
    (summary,) = verdicts.tick(T + 60.5)
    assert ("95", 999, "fatal", "RESET_GPU") == tuple(
        summary.attributes[key] for key in ("code", "count", "class", "action")
    )
    assert {"95": 1000, "79": 1} == {one.code: one.count for one in verdicts.open()}


def test_evidence_is_bounded_and_keeps_the_first_and_the_newest(make):
    verdicts = make()
    for number in range(100):
        verdicts.take(fault("95", T + number, text=f"line {number}" + "x" * 999), T + number)
    (verdict,) = verdicts.open()
    assert len(verdict.evidence) <= 8
    assert verdict.evidence[0].text.startswith("line 0x")
    assert verdict.evidence[-1].text.startswith("line 99x")
    assert all(len(one.text) <= 300 for one in verdict.evidence)


def test_a_line_that_says_how_grave_it_is_is_believed_where_the_table_lets_it(make):
    verdicts = make()
    told = verdicts.take(fault("149", **{"class": "warning"}), T)
    assert told is not None
    assert "warning" == told.attributes["class"]
    graver = verdicts.take(fault("149", T + 1, **{"class": "fatal"}), T + 1)
    assert graver is not None, "what is graver than before is news inside a storm too"
    assert "fatal" == graver.attributes["class"]
    told = verdicts.take(fault("79", T + 2, **{"class": "info"}), T + 2)
    assert told is not None
    assert "fatal" == told.attributes["class"]


def test_a_change_of_the_recovery_the_driver_asks_for_is_news(make):
    verdicts = make()
    first = verdicts.take(fault("154", action="gpu_reset", **{"class": "warning"}), T)
    then = verdicts.take(fault("154", T + 1, action="node_reboot", **{"class": "warning"}), T + 1)
    assert first is not None
    assert then is not None
    assert ("gpu_reset", "node_reboot") == (first.attributes["action"], then.attributes["action"])
    assert "node_reboot" == verdicts.open()[0].immediate


def test_a_device_known_by_its_address_only_is_found_by_its_id(make):
    devices = Devices()
    devices.note(Device("GPU-x", 3, "0000:05:00.0"))
    verdicts = make(devices=devices)
    told = verdicts.take(fault(hw_id="pci:0000:05:00.0"), T)
    assert told is not None
    assert "GPU-x" == told.attributes["hw.id"]
    sample = next(one for one in verdicts.samples(T) if one.metric == "hw.gpu.faults")
    expected = attributes({"hw.id": "GPU-x", "gpu": 3, "hw.vendor": "nvidia", "code": "79"})
    assert expected == sample.attributes


@pytest.mark.parametrize(
    ("code", "survives"), [("79", False), ("95", False), ("31", False), ("row_remap.failed", True)]
)
def test_a_reboot_clears_all_but_what_an_operator_must(make, code, survives):
    verdicts = make()
    verdicts.take(fault(code), T)
    verdicts.keep(T)
    again = make(boot="boot-2", now=T + 300)
    assert survives == bool(again.open())
    assert survives != bool(again.cleared())
    if not survives:
        assert "a reboot" == again.cleared()[0].cleared_how


def test_a_restart_in_the_same_boot_keeps_verdicts_counts_and_evidence(make):
    verdicts = make()
    verdicts.take(fault("95"), T)
    verdicts.take(fault("95", T + 1), T + 1)
    verdicts.keep(T + 1)
    again = make(now=T + 30)
    assert verdicts.open() == again.open()
    assert [one for one in verdicts.samples(T) if one.metric == "hw.gpu.faults"] == [
        one for one in again.samples(T) if one.metric == "hw.gpu.faults"
    ]


def test_a_line_read_again_after_a_restart_is_not_told_again_but_the_next_is(make):
    verdicts = make()
    verdicts.take(fault("95"), T)
    verdicts.keep(T)
    again = make(now=T + 30)
    assert again.take(fault("95", T + 0.02), T + 30) is None
    assert 1 == again.open()[0].count
    assert again.take(fault("95", T + 40), T + 40) is not None
    assert 2 == again.open()[0].count


def test_a_reset_clears_what_a_reset_heals_of_that_device_only(make):
    verdicts = make()
    for code, hw_id in (("95", "GPU-a"), ("79", "GPU-a"), ("95", "GPU-b")):
        verdicts.take(fault(code, hw_id=hw_id), T)
    verdicts.was_reset("GPU-a", T + 60)
    assert [("GPU-a", "79"), ("GPU-b", "95")] == [(one.hw_id, one.code) for one in verdicts.open()]


def action(name, at, hw_id="GPU-a"):
    pairs = attributes({"hw.id": hw_id, "gpu": 0, "action": name})
    return Sample("hw.gpu.recovery_action", 1.0, at, pairs)


def test_the_driver_that_asks_for_no_recovery_any_more_clears_as_a_reset_does(make):
    verdicts = make()
    verdicts.take(fault("95"), T)
    verdicts.observe([action("none", T)], T)
    assert verdicts.open(), "it had asked for none before"
    verdicts.observe([action("gpu_reset", T + 5)], T + 5)
    assert verdicts.open()
    verdicts.observe([action("none", T + 60)], T + 60)
    assert [] == verdicts.open()


def test_xid_154_to_none_clears_as_a_reset_does(make):
    verdicts = make()
    verdicts.take(fault("95"), T)
    verdicts.take(fault("154", T + 60, action="none", **{"class": "info"}), T + 60)
    assert [] == verdicts.open()


def test_a_device_that_answers_again_clears_that_it_was_lost(make):
    verdicts = make()
    reading = attributes({"hw.id": "GPU-a", "gpu": 0})
    verdicts.take(fault("nvml.lost", source="nvml"), T)
    verdicts.observe([Sample("hw.power", 70.0, T - 1, reading)], T)
    verdicts.observe([Sample("hw.gpu.pcie.width", 16.0, T + 60, reading)], T + 60)
    assert verdicts.open(), "older readings and what the bus says are no answer"
    verdicts.observe([Sample("hw.power", 70.0, T + 60, reading)], T + 60)
    assert [] == verdicts.open()


def test_quiet_minutes_clear_what_is_the_programs_own_and_the_next_is_news(make):
    verdicts = make()
    verdicts.take(fault("31"), T)
    verdicts.tick(T + 599)
    assert verdicts.open()
    verdicts.tick(T + 600)
    assert [] == verdicts.open()
    assert "10 quiet minutes" == verdicts.cleared()[0].cleared_how
    assert "ok" == verdicts.status("GPU-a")
    assert verdicts.take(fault("31", T + 601), T + 601) is not None


def test_an_operator_clears_through_a_file_and_the_next_one_is_told_at_once(make, tmp_path):
    verdicts = make()
    for code in ("row_remap.failed", "79"):
        verdicts.take(fault(code), T)
    ask_to_clear(tmp_path, "GPU-a", "row_remap.failed")
    ask_to_clear(tmp_path, "GPU-nobody")
    verdicts.keep(T + 5)
    assert ["79"] == [one.code for one in verdicts.open()]
    assert "an operator" == verdicts.cleared()[0].cleared_how
    assert verdicts.take(fault("row_remap.failed", T + 10), T + 10) is not None
    ask_to_clear(tmp_path, "*")
    verdicts.keep(T + 11)
    assert [] == verdicts.open()


def test_only_degraded_and_fatal_faults_change_a_devices_state(make):
    devices = Devices()
    for index, name in enumerate("abc"):
        devices.note(Device(f"GPU-{name}", index, f"0000:0{index}:00.0"))
    verdicts = make(devices=devices)
    verdicts.take(fault("31", hw_id="GPU-a"), T)
    verdicts.take(fault("94", hw_id="GPU-b"), T)
    verdicts.take(fault("95", hw_id="GPU-b"), T)
    states = {
        (dict(one.attributes)["hw.id"], dict(one.attributes)["hw.state"])
        for one in verdicts.samples(T)
        if one.metric == "hw.status"
    }
    assert {("GPU-a", "ok"), ("GPU-b", "failed"), ("GPU-c", "ok")} == states
    last = {
        dict(one.attributes)["hw.id"]: one.value
        for one in verdicts.samples(T)
        if one.metric == "hw.gpu.fault.last"
    }
    assert {"GPU-a": 31.0, "GPU-b": 95.0} == last


def test_a_site_may_judge_otherwise(make, tmp_path):
    path = tmp_path / "site.toml"
    path.write_text('[[fault]]\ncodes = "63"\nclass = "degraded"\nimmediate = "DRAIN"\n')
    knowledge = device_faults.overridden(device_faults.catalogue(), path)
    told = make(knowledge=knowledge).take(fault("63"), T)
    assert told is not None
    assert ("degraded", "DRAIN") == (told.attributes["class"], told.attributes["action"])


def test_the_page_of_faults_is_json_with_open_and_cleared_ones(make):
    verdicts = make()
    verdicts.take(fault("95"), T)
    verdicts.take(fault("79"), T)
    verdicts.was_reset("GPU-a", T + 1)
    told = json.loads(verdicts.document())
    assert ["79"] == [one["code"] for one in told["open"]]
    assert [("95", "cleared")] == [(one["code"], one["status"]) for one in told["cleared"]]
    assert "fatal" == told["open"][0]["class"]
    assert {"tool", "class", "action"} == set(told["open"][0]["others"][0])
    assert "xid=" in told["catalogue"]


def test_thousands_of_made_up_codes_are_held_in_bounded_memory(make):
    verdicts = make()
    for number in range(3000):
        verdicts.take(fault(f"made-up.{number}", T + number), T + number)
    assert len(verdicts.open()) <= 256
    assert len(verdicts.cleared()) <= 64
    assert len(verdicts.samples(T)) < 2000
    verdicts.keep(T)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"version": 1}',
        '{"version": 99}',
        '{"version": 1, "verdicts": [{}], "totals": [], "last": {}}',
    ],
)
def test_a_torn_file_of_state_costs_what_was_in_it_and_no_more(make, tmp_path, text):
    (tmp_path / "verdicts.json").write_text(text)
    verdicts = make()
    assert [] == verdicts.open()
    assert verdicts.take(fault(), T) is not None


def test_without_a_folder_nothing_is_kept_and_all_works(make):
    verdicts = make(state=None)
    assert verdicts.take(fault(), T) is not None
    verdicts.keep(T)
    assert verdicts.open()


@pytest.mark.parametrize(
    ("code", "first", "again"),
    [
        ("ecc.uncorrectable", "(hbm): 3 since the driver was loaded", None),
        ("row_remap.pending", "a memory row waits to be remapped", None),
        ("nvml.lost", "GPU is lost, by nvmlDeviceGetTemperature", "it was here before"),
    ],
)
def test_what_still_stands_when_the_agent_starts_anew_is_no_news(make, code, first, again):
    before = make()
    assert before.take(fault(code, source="nvml", text=first), T) is not None
    before.keep(T)
    after = make(now=T + 600)
    assert after.take(fault(code, T + 600, source="nvml", text=again or first), T + 600) is None
    (verdict,) = after.open()
    assert (1, T + 600) == (verdict.count, verdict.last_seen)
    assert [1.0] == [one.value for one in after.samples(T) if one.metric == "hw.gpu.faults"]


def test_errors_that_grew_while_the_agent_was_away_are_told(make):
    before = make()
    before.take(fault("ecc.uncorrectable", source="nvml", text="3 since"), T)
    before.keep(T)
    after = make(now=T + 600)
    event = fault("ecc.uncorrectable", T + 600, source="nvml", text="5 since")
    assert after.take(event, T + 600) is not None


def test_an_xid_that_comes_again_after_a_restart_is_told(make):
    before = make()
    before.take(fault("95", source="nvml"), T)
    before.keep(T)
    assert make(now=T + 600).take(fault("95", T + 600, source="nvml"), T + 600) is not None


def test_the_last_code_is_forgotten_with_the_boot_as_the_driver_does(make):
    before = make()
    before.take(fault("79"), T)
    before.keep(T)

    def last(verdicts):
        return [one.value for one in verdicts.samples(T) if one.metric == "hw.gpu.fault.last"]

    assert [79.0] == last(make(now=T + 600))
    assert [] == last(make(boot="boot-2", now=T + 600))


def reading(at, hw_id="GPU-a", gpu=3):
    return Sample("hw.temperature", 40.0, at, attributes({"hw.id": hw_id, "gpu": gpu}))


def test_what_an_exporter_still_shows_does_not_end_a_hang_of_the_driver(make):
    verdicts = make()
    verdicts.take(fault("nvml.hung", source="nvml"), T)
    verdicts.observe([reading(T + 30)], T + 30, native=False)
    assert verdicts.open()
    verdicts.observe([reading(T + 40)], T + 40)
    assert not verdicts.open()


def test_a_device_lost_before_it_told_its_name_is_found_by_its_index(make):
    verdicts = make()
    verdicts.take(fault("nvml.lost", hw_id="index-3", source="nvml"), T)
    verdicts.observe([reading(T + 30, gpu=2)], T + 30)
    assert verdicts.open()
    verdicts.observe([reading(T + 30)], T + 30)
    assert not verdicts.open()


def test_faults_told_by_address_are_the_devices_once_it_is_known(make):
    devices = Devices()
    verdicts = make(devices=devices)
    for hw_id in ("pci:0000:07:00.0", "pci:0000:08:00.0"):
        verdicts.take(fault("79", hw_id=hw_id), T)
    devices.note(Device("GPU-a", 0, "0000:07:00.0"))
    verdicts.tick(T + 1)
    assert {"GPU-a", "pci:0000:08:00.0"} == {one.hw_id for one in verdicts.open()}
    counted = {
        dict(one.attributes)["hw.id"]: one.value
        for one in verdicts.samples(T)
        if one.metric == "hw.gpu.faults"
    }
    assert {"GPU-a": 1.0, "pci:0000:08:00.0": 1.0} == counted
    assert verdicts.take(fault("79", T + 1.5, source="nvml"), T + 1.5) is None


def test_what_the_last_seconds_brought_outlives_the_agent(make, tmp_path):
    closing = contextlib.ExitStack()
    verdicts = make()
    readers.everything(readers.Surroundings(verdicts=verdicts, closing=closing))
    verdicts.take(fault("48"), T)
    closing.close()
    assert ["48"] == [one.code for one in make().open()]
