"""What outlives the agent and the boot."""

import contextlib

import pytest
from tests.agent.device_faults.faults import T, event

from rankscope.agent import readers


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


def test_what_the_last_seconds_brought_outlives_the_agent(make, tmp_path):
    closing = contextlib.ExitStack()
    tracker = make()
    readers.everything(readers.ReaderContext(fault_tracker=tracker, closing=closing))
    tracker.take(event("48"), T)
    closing.close()
    assert ["48"] == [one.code for one in make().open()]
