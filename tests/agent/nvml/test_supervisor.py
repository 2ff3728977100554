"""One hung, lost or reset device costs itself only; a driver that answers nobody is told."""

import os
import signal
import time

import pytest

from rankscope.agent.devices import DeviceRegister, KnownDevice
from rankscope.agent.health import AgentHealth
from rankscope.agent.nvml import supervisor as supervising
from rankscope.agent.nvml.process import WorkerProcess
from rankscope.lab.node.nvml import NvmlScenario


def test_a_healthy_node_tells_nothing(watched, until):
    one = watched()
    until(lambda: one.all_said() and all(one.answering()))
    assert one.supervisor.status() == (True, "driver 570.133.20, 8 devices")
    assert one.codes() == []
    assert [device.index for device in one.devices.everyone()] == list(range(8))


def test_a_hung_device_is_told_once_and_the_other_seven_keep_reporting(watched, until):
    one = watched()
    until(lambda: all(one.answering()))
    one.scenario.hang(5)
    one.scenario.set("all", "temperature_c", 33)
    until(lambda: one.codes(5) == ["nvml.hung"])
    assert one.answering() == [gpu != 5 for gpu in range(8)]
    for gpu in (0, 4, 7):
        until(lambda gpu=gpu: one.value("hw.temperature", gpu, hw_sensor="gpu") == 33)
    one.scenario.recover(5)
    until(lambda: all(one.answering()))
    assert one.codes() == ["nvml.hung"]


@pytest.mark.parametrize(
    ("misfortune", "code"),
    [
        pytest.param("lose", "nvml.lost", marks=pytest.mark.long),  # the next test loses one too
        ("require_reset", "nvml.reset_required"),
    ],
)
def test_a_device_that_is_gone_is_told_once_and_back_when_it_answers(
    watched, until, monkeypatch, misfortune, code
):
    monkeypatch.setattr(supervising, "_LOST_TIMEOUT_SECONDS", 1.0)
    one = watched()
    until(lambda: all(one.answering()))
    getattr(one.scenario, misfortune)(3)
    until(lambda: one.codes() == [code])
    until(lambda: one.health.counted("workers_replaced") >= 2)  # told once all the same
    assert one.codes() == [code]
    one.scenario.recover(3)
    until(lambda: all(one.answering()))


def test_a_renumbered_device_stays_itself_under_its_new_index(watched, until, monkeypatch):
    monkeypatch.setattr(supervising, "_LOST_TIMEOUT_SECONDS", 1.0)
    one = watched(gpus=3)
    until(lambda: all(one.answering()))
    uuid = one.uuid(2)
    with one.scenario.together():
        one.scenario.lose(0)
        one.scenario.set(2, "power_mw", 123_000)
    until(lambda: "nvml.lost" in one.codes())
    with one.scenario.together():
        one.scenario.recover(0)
        one.scenario.renumber([2, 0, 1])
    until(lambda: one.devices.index_of(uuid) == 0)
    until(lambda: one.value("hw.power", 2, gpu=0) == 123)
    assert one.devices.by_pci(one.scenario.get(2, "pci") or "") == uuid
    assert one.codes() == ["nvml.lost"]


def test_a_critical_xid_is_told_with_its_code(watched, until):
    one = watched()
    until(lambda: all(one.answering()))
    one.scenario.xid(2, 79)
    one.scenario.xid(6, 48)
    until(lambda: sorted(one.codes()) == ["48", "79"])
    assert one.codes(2) == ["79"]


@pytest.mark.long
def test_xids_of_others_are_told_while_one_device_hangs(watched, until):
    one = watched()
    until(lambda: all(one.answering()))
    one.scenario.hang(0)
    until(lambda: one.codes(0) == ["nvml.hung"])
    one.scenario.xid(1, 94)
    until(lambda: one.codes(1) == ["94"])


def test_a_driver_that_answers_nobody_is_told_of_every_device_and_tried_again(
    watched, until, monkeypatch
):
    monkeypatch.setattr(supervising, "_OPENING_HUNG_SECONDS", 1.0)
    monkeypatch.setattr(supervising, "_ALL_HUNG_TIMEOUT_SECONDS", 5.0)
    one = watched(gpus=2)
    until(lambda: all(one.answering()))
    one.scenario.hang_everything()
    until(lambda: sorted(one.codes()) == ["nvml.hung"] * 2)
    until(lambda: one.health.counted("workers_replaced") >= 2)
    assert sorted(one.codes()) == ["nvml.hung"] * 2
    one.scenario.hang_everything(hung=False)
    until(lambda: all(one.answering()))


def test_workers_stuck_in_the_driver_do_not_pile_up(watched, until, monkeypatch):
    monkeypatch.setattr(supervising, "_ALL_HUNG_TIMEOUT_SECONDS", 0.5)
    monkeypatch.setattr(supervising, "_OPENING_HUNG_SECONDS", 0.2)
    monkeypatch.setattr(supervising, "_MOST_ABANDONED", 2)
    # A process in the driver's uninterruptible sleep outlives its SIGKILL: here it never dies.
    monkeypatch.setattr(WorkerProcess, "ended", lambda worker: False)
    one = watched(gpus=1)
    one.scenario.hang_everything()
    until(lambda: one.health.counted("workers_replaced") == 2)
    time.sleep(2.0)  # the time of four more, were they started
    assert one.health.counted("workers_replaced") == 2


def test_a_device_that_was_lost_while_the_agent_was_away_is_still_missed(watched, until, tmp_path):
    known = DeviceRegister(tmp_path)
    known.note(KnownDevice("GPU-gone", 7, "0000:99:00.0", "nvidia", "H100"))
    one = watched(gpus=2, folder=tmp_path)
    until(lambda: one.events)
    assert [event.attributes["hw.id"] for event in one.events] == ["GPU-gone"]
    assert one.codes() == ["nvml.lost"]


def test_a_device_whose_slot_holds_another_one_now_is_not_missed(watched, until, tmp_path):
    known = DeviceRegister(tmp_path)
    known.note(KnownDevice("GPU-replaced", 0, "0000:1b:00.0", "nvidia", "H100"))
    one = watched(gpus=1, folder=tmp_path)
    until(lambda: all(one.answering()))
    assert one.codes() == []


def test_a_device_that_answers_nothing_when_the_driver_lists_it_is_told(watched, until, tmp_path):
    scenario = NvmlScenario(tmp_path / "driver", gpus=3)
    scenario.lose(1)
    one = watched.over(scenario)
    until(lambda: one.codes() == ["nvml.lost"])
    until(lambda: [one.answering()[gpu] for gpu in (0, 2)] == [True, True])


def test_a_node_without_the_library_is_not_supported_and_says_why(watched, monkeypatch, tmp_path):
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    supervisor = supervising.WorkerSupervisor(
        subjects=["gpu_power"],
        period=1.0,
        devices=DeviceRegister(),
        health=AgentHealth(),
        emit=lambda event: None,
    )
    supported, why = supervisor.status(wait=20.0)
    assert not supported
    assert "libnvidia-ml.so.1" in why
    supervisor.check()
    assert supervisor.samples("gpu_power", since=0.0) == []
    supervisor.close()


def test_a_worker_that_is_killed_is_replaced_and_nothing_false_is_told(watched, until, monkeypatch):
    monkeypatch.setattr(supervising, "_RETRY_SECONDS", (0.1, 0.1))
    one = watched(gpus=2)
    until(lambda: all(one.answering()))
    first = one.supervisor.worker_pid
    assert first
    os.kill(first, signal.SIGKILL)
    until(lambda: one.supervisor.worker_pid not in (None, first) and all(one.answering()))
    assert one.codes() == []


@pytest.mark.long
def test_a_device_that_had_no_name_yet_is_not_missed_once_it_has_told_it(
    watched, until, tmp_path, monkeypatch
):
    monkeypatch.setattr(supervising, "_LOST_TIMEOUT_SECONDS", 0.5)
    scenario = NvmlScenario(tmp_path / "driver", gpus=3)
    scenario.lose(1)
    one = watched.over(scenario)
    until(lambda: one.codes() == ["nvml.lost"])
    one.scenario.recover(1)
    until(lambda: all(one.answering()))
    assert set(one.supervisor.answering(time.time())) == {one.uuid(gpu) for gpu in range(3)}


def test_readers_that_ask_one_after_another_wait_for_a_hung_driver_once(watched, monkeypatch):
    one = watched(gpus=1)
    one.scenario.hang_everything()
    one.supervisor._replace("a test begins anew")
    assert one.supervisor.status(wait=1.0)[0]
    monkeypatch.setattr(
        one.supervisor._first_answer, "wait", lambda _: pytest.fail("it waits again")
    )
    for _ in range(10):
        assert one.supervisor.status(wait=1.0)[0]


def test_what_a_device_tells_is_known_while_it_answers(watched, until):
    one = watched(gpus=1)
    until(one.all_said)
    until(lambda: {"hw.power", "hw.temperature"} <= one.supervisor.metrics(one.uuid(0)))
    one.scenario.lose(0)
    until(lambda: not one.supervisor.metrics(one.uuid(0)))
