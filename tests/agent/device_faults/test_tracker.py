import json

from tests.agent.device_faults.faults import T, event, reading, reset

from rankscope.agent.devices import DeviceRegister, KnownDevice
from rankscope.vocabulary import device_faults
from rankscope.vocabulary.samples import Event, attributes


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
    devices = DeviceRegister()
    devices.note(KnownDevice("GPU-x", 3, "0000:05:00.0"))
    tracker = make(devices=devices)
    told = tracker.take(event(hw_id="pci:0000:05:00.0"), T)
    assert told is not None
    assert "GPU-x" == told.attributes["hw.id"]
    sample = next(one for one in tracker.samples(T) if one.metric == "hw.gpu.faults")
    expected = attributes({"hw.id": "GPU-x", "gpu": 3, "hw.vendor": "nvidia", "code": "79"})
    assert expected == sample.attributes


def test_only_degraded_and_fatal_faults_change_a_devices_state(make):
    devices = DeviceRegister()
    for index, name in enumerate("abc"):
        devices.note(KnownDevice(f"GPU-{name}", index, f"0000:0{index}:00.0"))
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


def test_a_device_lost_before_it_told_its_name_is_found_by_its_index(make):
    tracker = make()
    tracker.take(event("nvml.lost", hw_id="index-3", source="nvml"), T)
    tracker.observe([reading(T + 30, gpu=2)], T + 30)
    assert tracker.open()
    tracker.observe([reading(T + 30)], T + 30)
    assert not tracker.open()


def test_faults_told_by_address_are_the_devices_once_it_is_known(make):
    devices = DeviceRegister()
    tracker = make(devices=devices)
    for hw_id in ("pci:0000:07:00.0", "pci:0000:08:00.0"):
        tracker.take(event("79", hw_id=hw_id), T)
    devices.note(KnownDevice("GPU-a", 0, "0000:07:00.0"))
    tracker.tick(T + 1)
    assert {"GPU-a", "pci:0000:08:00.0"} == {one.hw_id for one in tracker.open()}
    counted = {
        dict(one.attributes)["hw.id"]: one.value
        for one in tracker.samples(T)
        if one.metric == "hw.gpu.faults"
    }
    assert {"GPU-a": 1.0, "pci:0000:08:00.0": 1.0} == counted
    assert tracker.take(event("79", T + 1.5, source="nvml"), T + 1.5) is None
