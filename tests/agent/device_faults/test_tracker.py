import contextlib
import json

import pytest

from rankscope.agent import readers
from rankscope.agent.device_faults import FaultTracker, ask_to_clear
from rankscope.agent.devices import Device, Devices
from rankscope.vocabulary import device_faults
from rankscope.vocabulary.samples import Event, Sample, attributes

T = 1_000_000.0


def event(code="79", at=T, hw_id="GPU-a", **more):
    pairs = {"hw.id": hw_id, "code": code, "vendor": "nvidia", "text": f"XID {code}", **more}
    return Event("gpu.fault", at, {"source": "kmsg", **pairs})


@pytest.fixture
def make(tmp_path):
    """Start an agent's tracker; `boot` is the boot it finds itself in."""

    def start(boot="boot-1", now=T, **more):
        return FaultTracker(boot_id=boot, now=now, **{"state": tmp_path, **more})

    return start


def test_a_fault_leaves_with_class_and_actions_and_opens_a_verdict(make):
    tracker = make()
    told = tracker.take(event(pid=7), T)
    assert told is not None
    assert ("fatal", "RESTART_BM", "CONTACT_SUPPORT", 1, 7, "GPU-a") == tuple(
        told.attributes[key] for key in ("class", "action", "investigate", "count", "pid", "hw.id")
    )
    (fault,) = tracker.open()
    assert ("GPU-a", "79", "fatal", 1, "boot-1", "reboot", 7) == (
        fault.hw_id, fault.code, fault.fault_class, fault.count, fault.boot_id,
        fault.cleared_by, fault.pid,
    )  # fmt: skip
    assert ["gpud", "NVSentinel"] == [one.tool for one in fault.others]
    assert "failed" == tracker.status("GPU-a")


def test_other_events_pass_as_they_are(make):
    event = Event("host.oom_kill", T, {"pid": 1})
    assert make().take(event, T) is event


def test_one_fault_told_by_two_sources_is_one_event_and_one_verdict_with_both(make):
    tracker = make()
    assert tracker.take(event(), T) is not None
    assert tracker.take(event(at=T + 1.5, source="nvml", text="event"), T + 1.5) is None
    (fault,) = tracker.open()
    assert 1 == fault.count
    assert ["kmsg", "nvml"] == [one.source for one in fault.evidence]
    assert [] == tracker.tick(T + 61)


def test_one_source_alone_counts_every_occurrence_and_the_other_adds_none(make):
    tracker = make()
    for number in range(5):
        tracker.take(event("31", T + number), T + number)
        tracker.take(event("31", T + number + 0.3, source="nvml"), T + number + 0.3)
    (fault,) = tracker.open()
    assert 5 == fault.count
    (summary,) = tracker.tick(T + 61)
    assert 4 == summary.attributes["count"]
    assert summary.at == tracker.open()[0].last_seen, "the time of the last one, not of the count"
    assert "application" == summary.attributes["class"]


def test_what_follows_from_a_fall_off_the_bus_is_its_evidence_and_no_event(make):
    tracker = make()
    assert tracker.take(event("79"), T) is not None
    assert tracker.take(event("nvml.lost", T + 1, source="nvml", text="lost"), T + 1) is None
    assert tracker.take(event("pci.gone", T + 3, source="pci", text="gone"), T + 3) is None
    (fault,) = tracker.open()
    assert ("79", 1) == (fault.code, fault.count)
    assert ["kmsg", "nvml", "pci"] == [one.source for one in fault.evidence]
    assert tracker.take(event("nvml.lost", T + 1, hw_id="GPU-b"), T + 1) is not None
    assert tracker.take(event("nvml.lost", T + 300), T + 300) is not None


def test_a_fall_told_after_its_consequence_is_told_all_the_same(make):
    tracker = make()
    assert tracker.take(event("nvml.lost", source="nvml"), T) is not None
    assert tracker.take(event("79", T + 1), T + 1) is not None


def test_an_exporter_that_comes_late_adds_neither_an_event_nor_a_count(make):
    tracker = make()
    tracker.take(event("94"), T)
    assert tracker.take(event("94", T + 45, source="exporter"), T + 45) is None
    assert [] == tracker.tick(T + 61)
    assert 1 == tracker.open()[0].count
    tracker.take(event("94", T + 100), T + 100)
    tracker.take(event("94", T + 130, source="exporter"), T + 130)
    assert 2 == tracker.open()[0].count


def test_an_occurrence_that_only_one_source_saw_is_not_lost_to_the_others_count(make):
    tracker = make()
    for number in range(3):
        tracker.take(event("31", T + number / 10), T)
    assert tracker.take(event("31", T + 3600, source="nvml"), T + 3600) is not None
    assert 4 == tracker.open()[0].count


def test_a_storm_is_one_event_and_a_summary_and_a_different_code_is_told(make):
    tracker = make()
    told = [tracker.take(event("95", T + n / 1000), T + n / 1000) for n in range(1000)]
    assert 1 == sum(one is not None for one in told)
    assert tracker.take(event("79", T + 1), T + 1) is not None
    (summary,) = tracker.tick(T + 60.5)
    assert ("95", 999, "fatal", "RESET_GPU") == tuple(
        summary.attributes[key] for key in ("code", "count", "class", "action")
    )
    assert {"95": 1000, "79": 1} == {one.code: one.count for one in tracker.open()}


def test_evidence_is_bounded_and_keeps_the_first_and_the_newest(make):
    tracker = make()
    for number in range(100):
        tracker.take(event("95", T + number, text=f"line {number}" + "x" * 999), T + number)
    (fault,) = tracker.open()
    assert len(fault.evidence) <= 8
    assert fault.evidence[0].text.startswith("line 0x")
    assert fault.evidence[-1].text.startswith("line 99x")
    assert all(len(one.text) <= 300 for one in fault.evidence)


def test_a_line_that_says_how_grave_it_is_is_believed_where_the_table_lets_it(make):
    tracker = make()
    told = tracker.take(event("149", **{"class": "warning"}), T)
    assert told is not None
    assert "warning" == told.attributes["class"]
    graver = tracker.take(event("149", T + 1, **{"class": "fatal"}), T + 1)
    assert graver is not None, "what is graver than before is news inside a storm too"
    assert "fatal" == graver.attributes["class"]
    told = tracker.take(event("79", T + 2, **{"class": "info"}), T + 2)
    assert told is not None
    assert "fatal" == told.attributes["class"]


def test_a_change_of_the_recovery_the_driver_asks_for_is_news(make):
    tracker = make()
    first = tracker.take(event("154", action="gpu_reset", **{"class": "warning"}), T)
    then = tracker.take(event("154", T + 1, action="node_reboot", **{"class": "warning"}), T + 1)
    assert first is not None
    assert then is not None
    assert ("gpu_reset", "node_reboot") == (first.attributes["action"], then.attributes["action"])
    assert "node_reboot" == tracker.open()[0].immediate


def test_a_device_known_by_its_address_only_is_found_by_its_id(make):
    devices = Devices()
    devices.note(Device("GPU-x", 3, "0000:05:00.0"))
    tracker = make(devices=devices)
    told = tracker.take(event(hw_id="pci:0000:05:00.0"), T)
    assert told is not None
    assert "GPU-x" == told.attributes["hw.id"]
    sample = next(one for one in tracker.samples(T) if one.metric == "hw.gpu.faults")
    expected = attributes({"hw.id": "GPU-x", "gpu": 3, "hw.vendor": "nvidia", "code": "79"})
    assert expected == sample.attributes


@pytest.mark.parametrize(
    ("code", "survives"), [("79", False), ("95", False), ("31", False), ("row_remap.failed", True)]
)
def test_a_reboot_clears_all_but_what_an_operator_must(make, code, survives):
    tracker = make()
    tracker.take(event(code), T)
    tracker.keep(T)
    again = make(boot="boot-2", now=T + 300)
    assert survives == bool(again.open())
    assert survives != bool(again.cleared())
    if not survives:
        assert "a reboot" == again.cleared()[0].cleared_how


def test_a_restart_in_the_same_boot_keeps_verdicts_counts_and_evidence(make):
    tracker = make()
    tracker.take(event("95"), T)
    tracker.take(event("95", T + 1), T + 1)
    tracker.keep(T + 1)
    again = make(now=T + 30)
    assert tracker.open() == again.open()
    assert [one for one in tracker.samples(T) if one.metric == "hw.gpu.faults"] == [
        one for one in again.samples(T) if one.metric == "hw.gpu.faults"
    ]


def test_a_line_read_again_after_a_restart_is_not_told_again_but_the_next_is(make):
    tracker = make()
    tracker.take(event("95"), T)
    tracker.keep(T)
    again = make(now=T + 30)
    assert again.take(event("95", T + 0.02), T + 30) is None
    assert 1 == again.open()[0].count
    assert again.take(event("95", T + 40), T + 40) is not None
    assert 2 == again.open()[0].count


def action(name, at, hw_id="GPU-a"):
    pairs = attributes({"hw.id": hw_id, "gpu": 0, "action": name})
    return Sample("hw.gpu.recovery_action", 1.0, at, pairs)


def reset(tracker, hw_id, at):
    """Let the driver ask for a recovery, and then for none any more."""
    tracker.observe([action("reset", at, hw_id)], at)
    tracker.observe([action("none", at, hw_id)], at)


def test_a_reset_clears_what_a_reset_heals_of_that_device_only(make):
    tracker = make()
    for code, hw_id in (("95", "GPU-a"), ("79", "GPU-a"), ("95", "GPU-b")):
        tracker.take(event(code, hw_id=hw_id), T)
    reset(tracker, "GPU-a", T + 60)
    assert [("GPU-a", "79"), ("GPU-b", "95")] == [(one.hw_id, one.code) for one in tracker.open()]


def test_the_driver_that_asks_for_no_recovery_any_more_clears_as_a_reset_does(make):
    tracker = make()
    tracker.take(event("95"), T)
    tracker.observe([action("none", T)], T)
    assert tracker.open(), "it had asked for none before"
    tracker.observe([action("gpu_reset", T + 5)], T + 5)
    assert tracker.open()
    tracker.observe([action("none", T + 60)], T + 60)
    assert [] == tracker.open()


def test_xid_154_to_none_clears_as_a_reset_does(make):
    tracker = make()
    tracker.take(event("95"), T)
    tracker.take(event("154", T + 60, action="none", **{"class": "info"}), T + 60)
    assert [] == tracker.open()


def test_a_device_that_answers_again_clears_that_it_was_lost(make):
    tracker = make()
    reading = attributes({"hw.id": "GPU-a", "gpu": 0})
    tracker.take(event("nvml.lost", source="nvml"), T)
    tracker.observe([Sample("hw.power", 70.0, T - 1, reading)], T)
    tracker.observe([Sample("hw.gpu.pcie.width", 16.0, T + 60, reading)], T + 60)
    assert tracker.open(), "older readings and what the bus says are no answer"
    tracker.observe([Sample("hw.power", 70.0, T + 60, reading)], T + 60)
    assert [] == tracker.open()


def test_quiet_minutes_clear_what_is_the_programs_own_and_the_next_is_news(make):
    tracker = make()
    tracker.take(event("31"), T)
    tracker.tick(T + 599)
    assert tracker.open()
    tracker.tick(T + 600)
    assert [] == tracker.open()
    assert "10 quiet minutes" == tracker.cleared()[0].cleared_how
    assert "ok" == tracker.status("GPU-a")
    assert tracker.take(event("31", T + 601), T + 601) is not None


def test_an_operator_clears_through_a_file_and_the_next_one_is_told_at_once(make, tmp_path):
    tracker = make()
    for code in ("row_remap.failed", "79"):
        tracker.take(event(code), T)
    ask_to_clear(tmp_path, "GPU-a", "row_remap.failed")
    ask_to_clear(tmp_path, "GPU-nobody")
    tracker.keep(T + 5)
    assert ["79"] == [one.code for one in tracker.open()]
    assert "an operator" == tracker.cleared()[0].cleared_how
    assert tracker.take(event("row_remap.failed", T + 10), T + 10) is not None
    ask_to_clear(tmp_path, "*")
    tracker.keep(T + 11)
    assert [] == tracker.open()


def test_only_degraded_and_fatal_faults_change_a_devices_state(make):
    devices = Devices()
    for index, name in enumerate("abc"):
        devices.note(Device(f"GPU-{name}", index, f"0000:0{index}:00.0"))
    tracker = make(devices=devices)
    tracker.take(event("31", hw_id="GPU-a"), T)
    tracker.take(event("94", hw_id="GPU-b"), T)
    tracker.take(event("95", hw_id="GPU-b"), T)
    states = {
        (dict(one.attributes)["hw.id"], dict(one.attributes)["hw.state"])
        for one in tracker.samples(T)
        if one.metric == "hw.status"
    }
    assert {("GPU-a", "ok"), ("GPU-b", "failed"), ("GPU-c", "ok")} == states
    last = {
        dict(one.attributes)["hw.id"]: one.value
        for one in tracker.samples(T)
        if one.metric == "hw.gpu.fault.last"
    }
    assert {"GPU-a": 31.0, "GPU-b": 95.0} == last


def test_a_site_may_judge_otherwise(make, tmp_path):
    path = tmp_path / "site.toml"
    path.write_text('[[fault]]\ncodes = "63"\nclass = "degraded"\nimmediate = "DRAIN"\n')
    knowledge = device_faults.overridden(device_faults.catalogue(), path)
    told = make(knowledge=knowledge).take(event("63"), T)
    assert told is not None
    assert ("degraded", "DRAIN") == (told.attributes["class"], told.attributes["action"])


def test_the_page_of_faults_is_json_with_open_and_cleared_ones(make):
    tracker = make()
    tracker.take(event("95"), T)
    tracker.take(event("79"), T)
    reset(tracker, "GPU-a", T + 1)
    told = json.loads(tracker.document())
    assert ["79"] == [one["code"] for one in told["open"]]
    assert [("95", "cleared")] == [(one["code"], one["status"]) for one in told["cleared"]]
    assert "fatal" == told["open"][0]["class"]
    assert {"tool", "class", "action"} == set(told["open"][0]["others"][0])
    assert "xid=" in told["catalogue"]


def test_thousands_of_made_up_codes_are_held_in_bounded_memory(make):
    tracker = make()
    for number in range(3000):
        tracker.take(event(f"made-up.{number}", T + number), T + number)
    assert len(tracker.open()) <= 256
    assert len(tracker.cleared()) <= 64
    assert len(tracker.samples(T)) < 2000
    tracker.keep(T)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"version": 1}',
        '{"version": 99}',
        '{"version": 1, "tracker": [{}], "totals": [], "last": {}}',
    ],
)
def test_a_torn_file_of_state_costs_what_was_in_it_and_no_more(make, tmp_path, text):
    (tmp_path / "tracker.json").write_text(text)
    tracker = make()
    assert [] == tracker.open()
    assert tracker.take(event(), T) is not None


def test_without_a_folder_nothing_is_kept_and_all_works(make):
    tracker = make(state=None)
    assert tracker.take(event(), T) is not None
    tracker.keep(T)
    assert tracker.open()


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
    assert before.take(event(code, source="nvml", text=first), T) is not None
    before.keep(T)
    after = make(now=T + 600)
    assert after.take(event(code, T + 600, source="nvml", text=again or first), T + 600) is None
    (fault,) = after.open()
    assert (1, T + 600) == (fault.count, fault.last_seen)
    assert [1.0] == [one.value for one in after.samples(T) if one.metric == "hw.gpu.faults"]


def test_errors_that_grew_while_the_agent_was_away_are_told(make):
    before = make()
    before.take(event("ecc.uncorrectable", source="nvml", text="3 since"), T)
    before.keep(T)
    after = make(now=T + 600)
    grown = event("ecc.uncorrectable", T + 600, source="nvml", text="5 since")
    assert after.take(grown, T + 600) is not None


def test_an_xid_that_comes_again_after_a_restart_is_told(make):
    before = make()
    before.take(event("95", source="nvml"), T)
    before.keep(T)
    assert make(now=T + 600).take(event("95", T + 600, source="nvml"), T + 600) is not None


def test_the_last_code_is_forgotten_with_the_boot_as_the_driver_does(make):
    before = make()
    before.take(event("79"), T)
    before.keep(T)

    def last(tracker):
        return [one.value for one in tracker.samples(T) if one.metric == "hw.gpu.fault.last"]

    assert [79.0] == last(make(now=T + 600))
    assert [] == last(make(boot="boot-2", now=T + 600))


def reading(at, hw_id="GPU-a", gpu=3):
    return Sample("hw.temperature", 40.0, at, attributes({"hw.id": hw_id, "gpu": gpu}))


def test_what_an_exporter_still_shows_does_not_end_a_hang_of_the_driver(make):
    tracker = make()
    tracker.take(event("nvml.hung", source="nvml"), T)
    tracker.observe([reading(T + 30)], T + 30, native=False)
    assert tracker.open()
    tracker.observe([reading(T + 40)], T + 40)
    assert not tracker.open()


def test_a_device_lost_before_it_told_its_name_is_found_by_its_index(make):
    tracker = make()
    tracker.take(event("nvml.lost", hw_id="index-3", source="nvml"), T)
    tracker.observe([reading(T + 30, gpu=2)], T + 30)
    assert tracker.open()
    tracker.observe([reading(T + 30)], T + 30)
    assert not tracker.open()


def test_faults_told_by_address_are_the_devices_once_it_is_known(make):
    devices = Devices()
    tracker = make(devices=devices)
    for hw_id in ("pci:0000:07:00.0", "pci:0000:08:00.0"):
        tracker.take(event("79", hw_id=hw_id), T)
    devices.note(Device("GPU-a", 0, "0000:07:00.0"))
    tracker.tick(T + 1)
    assert {"GPU-a", "pci:0000:08:00.0"} == {one.hw_id for one in tracker.open()}
    counted = {
        dict(one.attributes)["hw.id"]: one.value
        for one in tracker.samples(T)
        if one.metric == "hw.gpu.faults"
    }
    assert {"GPU-a": 1.0, "pci:0000:08:00.0": 1.0} == counted
    assert tracker.take(event("79", T + 1.5, source="nvml"), T + 1.5) is None


def test_what_the_last_seconds_brought_outlives_the_agent(make, tmp_path):
    closing = contextlib.ExitStack()
    tracker = make()
    readers.everything(readers.ReaderContext(fault_tracker=tracker, closing=closing))
    tracker.take(event("48"), T)
    closing.close()
    assert ["48"] == [one.code for one in make().open()]
