"""What ends a fault."""

from tests.agent.device_faults.faults import T, action, event, reading, reset

from rankscope.agent.device_faults import ask_to_clear
from rankscope.vocabulary.samples import Sample, attributes


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


def test_what_an_exporter_still_shows_does_not_end_a_hang_of_the_driver(make):
    tracker = make()
    tracker.take(event("nvml.hung", source="nvml"), T)
    tracker.observe([reading(T + 30)], T + 30, native=False)
    assert tracker.open()
    tracker.observe([reading(T + 40)], T + 40)
    assert not tracker.open()
