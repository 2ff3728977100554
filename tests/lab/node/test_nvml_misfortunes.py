"""What a driver may do to its client, the stub does: lose, hang, lag, refuse, renumber."""

import shutil
import time

import pytest

from rankscope.lab.node import nvml
from rankscope.lab.node.nvml import NvmlScenario

LOST, RESET, TIMEOUT = {"code": 15}, {"code": 16}, {"code": 10}
POWER = "n.nvmlDeviceGetPowerUsage(d[{}])"


def everywhere(client, gpus=range(8)):
    return [client(POWER.format(gpu)) for gpu in gpus]


def test_a_lost_device_fails_every_call_and_is_not_given_out_again(scenario, client, until):
    scenario.lose(3)
    until(lambda: client(POWER.format(3)) == LOST)
    assert client("n.nvmlDeviceGetUUID(d[3])") == LOST
    assert client("n.nvmlDeviceGetHandleByIndex(3)") == LOST
    assert client("n.nvmlDeviceGetCount()") == 8
    assert everywhere(client, [0, 1, 2, 4, 5, 6, 7]) == [612_000] * 7
    scenario.recover(3)
    until(lambda: client(POWER.format(3)) == 612_000)


def test_a_device_that_needs_a_reset_is_still_known_by_name(scenario, client, until):
    scenario.require_reset(2)
    until(lambda: client(POWER.format(2)) == RESET)
    assert client("n.nvmlDeviceGetUUID(d[2])") == nvml.gpu_uuid(2)
    assert client(POWER.format(1)) == 612_000


def test_a_hung_device_keeps_nobody_else_waiting(scenario, client, settle):
    scenario.hang(5)
    settle()
    stuck = client.begin(POWER.format(5))
    others = [client.begin(POWER.format(gpu)) for gpu in range(8) if gpu != 5]
    assert [call.get(timeout=60) for call in others] == [612_000] * 7
    assert client("n.nvmlDeviceGetUUID(n.nvmlDeviceGetHandleByIndex(5))") == nvml.gpu_uuid(5)
    assert stuck.empty()
    scenario.recover(5)
    assert stuck.get(timeout=60) == 612_000


def test_only_the_named_calls_hang_when_some_are_named(scenario, client, settle):
    scenario.hang(1, "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetTemperature")
    settle()
    stuck = client.begin("n.nvmlDeviceGetIndex(n.nvmlDeviceGetHandleByIndex(1))")
    assert client(POWER.format(1)) == 612_000
    assert stuck.empty()
    scenario.recover(1)
    assert stuck.get(timeout=60) == 1


def test_a_hung_driver_blocks_every_client_and_lets_them_go_again(scenario, client, start, settle):
    scenario.hang_everything()
    settle()
    old = client.begin("n.nvmlDeviceGetCount()")
    fresh = start(scenario.environment(), initialised=False)
    beginning = fresh.begin("n.nvmlInit()")
    assert fresh("1 + 1") == 2, "the process itself lives"
    assert old.empty()
    assert beginning.empty()
    scenario.hang_everything(hung=False)
    assert old.get(timeout=60) == 8
    assert beginning.get(timeout=60) is None


def test_a_slow_device_takes_its_time(scenario, client, until):
    scenario.set(0, "slow_ms", 200)

    def took():
        before = time.monotonic()
        assert client(POWER.format(0)) == 612_000
        return time.monotonic() - before

    until(lambda: took() >= 0.2)


def test_an_absent_function_is_one_that_is_not_found(scenario, client, until):
    scenario.absent("nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetGpuFabricInfoV")
    second = "n.nvmlDeviceGetMemoryInfo(d[0], version=n.nvmlMemory_v2)"
    until(lambda: client(second) == {"code": 13})
    assert client("n.nvmlDeviceGetMemoryInfo(d[0])")["total"] == 85520809984


def test_a_missing_symbol_is_the_same_to_the_client(scenario, start):
    environment = scenario.environment(without=["nvmlDeviceGetMemoryInfo_v2"])
    client = start(environment)
    client.hold("d", "n.nvmlDeviceGetHandleByIndex(0)")
    assert client("n.nvmlDeviceGetMemoryInfo(d, version=n.nvmlMemory_v2)") == {"code": 13}
    assert client("hasattr(n.nvmlLib, 'nvmlDeviceGetMemoryInfo_v2')") is False
    assert client("n.nvmlDeviceGetMemoryInfo(d)")["total"] == 85520809984


def test_one_function_may_be_unsupported_or_fail_on_one_device(scenario, client, until):
    scenario.unsupported(0, "nvmlDeviceGetPowerUsage")
    scenario.fail(1, "nvmlDeviceGetPowerUsage", 4)
    scenario.fail(2, "all", 999)
    until(lambda: everywhere(client, [0, 1, 2]) == [{"code": 3}, {"code": 4}, {"code": 999}])
    assert client("n.nvmlDeviceGetTemperature(d[0], 0)") == 58
    assert client(POWER.format(3)) == 612_000


def test_a_value_itself_may_be_an_error_or_unsupported(scenario, client, until):
    scenario.set(0, "temperature_c", "!999")
    scenario.set(1, "temperature_c", "unsupported")
    reads = "n.nvmlDeviceGetTemperature(d[{}], 0)"
    until(lambda: [client(reads.format(gpu)) for gpu in (0, 1)] == [{"code": 999}, {"code": 3}])


def test_devices_are_renumbered_and_keep_their_uuid(scenario, client, until):
    scenario.renumber([1, 0, 2, 3, 4, 5, 6, 7])
    first = "n.nvmlDeviceGetUUID(n.nvmlDeviceGetHandleByIndex(0))"
    until(lambda: client(first) == nvml.gpu_uuid(1))
    assert client("n.nvmlDeviceGetUUID(d[0])") == nvml.gpu_uuid(0)
    assert client("n.nvmlDeviceGetIndex(d[0])") == 1


def test_the_order_may_be_written_by_uuid(scenario, client, until):
    scenario.set("global", "order", f"{nvml.gpu_uuid(6)}, {nvml.gpu_uuid(2)}")
    until(lambda: client("n.nvmlDeviceGetCount()") == 2)
    assert client("[n.nvmlDeviceGetIndex(d[i]) for i in (6, 2)]") == [0, 1]


def test_a_vanished_device_shrinks_the_count_and_its_handle_is_lost(scenario, client, until):
    scenario.vanish(2)
    until(lambda: client("n.nvmlDeviceGetCount()") == 7)
    assert client(POWER.format(2)) == LOST
    assert client(f"n.nvmlDeviceGetHandleByUUID({nvml.gpu_uuid(2)!r})") == {"code": 6}
    assert client("n.nvmlDeviceGetIndex(d[3])") == 2
    scenario.vanish(7)
    until(lambda: client("n.nvmlDeviceGetCount()") == 6)


@pytest.fixture
def watch(client):
    """Return the client, with an event set over all devices held as `s`."""
    client.hold("s", "n.nvmlEventSetCreate()")
    register = "[n.nvmlDeviceRegisterEvents(x, n.nvmlEventTypeXidCriticalError, s) for x in d]"
    assert client(register) == [None] * 8
    return client


WAIT = (
    "(lambda e: (n.nvmlDeviceGetIndex(e.device), e.eventType, e.eventData))"
    "(n.nvmlEventSetWait_v2(s, {}))"
)


def test_an_xid_comes_through_the_event_set_at_once(scenario, watch):
    waiting = watch.begin(WAIT.format(20_000))
    scenario.xid(6, 79)
    assert waiting.get(timeout=60) == [6, 8, 79]
    assert watch("n.nvmlEventSetWait_v2(s, 30)") == TIMEOUT


def test_several_xids_come_in_order_and_each_once(scenario, watch):
    with scenario.together():
        for code in (48, 63, 95):
            scenario.xid(1, code)
    scenario.xid(4, 13)
    got = sorted(watch(WAIT.format(20_000)) for _ in range(4))
    assert got == [[1, 8, 48], [1, 8, 63], [1, 8, 95], [4, 8, 13]]
    assert watch("n.nvmlEventSetWait_v2(s, 0)") == TIMEOUT


def test_other_events_come_to_those_who_registered_for_them(scenario, watch):
    double_bit = 2
    watch.hold("x", "s")
    watch.hold("s", "n.nvmlEventSetCreate()")
    watch(f"n.nvmlDeviceRegisterEvents(d[3], {double_bit}, s)")
    scenario.event(3, double_bit, 17)
    assert watch(WAIT.format(20_000)) == [3, double_bit, 17]
    watch.hold("s", "x")
    assert watch("n.nvmlEventSetWait_v2(s, 30)") == TIMEOUT


def test_an_xid_of_before_the_registration_is_not_told(scenario, client, until):
    scenario.xid(0, 31)
    scenario.set(0, "temperature_c", 77)
    until(lambda: client("n.nvmlDeviceGetTemperature(d[0], 0)") == 77)
    client.hold("s", "n.nvmlEventSetCreate()")
    client("n.nvmlDeviceRegisterEvents(d[0], 8, s)")
    assert client("n.nvmlEventSetWait_v2(s, 50)") == TIMEOUT


def test_a_wait_fails_once_a_member_is_lost_but_returns_earlier_events_first(scenario, watch):
    with scenario.together():
        scenario.xid(2, 79)
        scenario.lose(2)
    # The lost device cannot be asked for its index any more: its handle identifies it.
    handle = "ctypes.cast({}, ctypes.c_void_p).value"
    seen = watch(
        f"(lambda e: (e.eventData, {handle.format('e.device')} == {handle.format('d[2]')}))"
        "(n.nvmlEventSetWait_v2(s, 20000))"
    )
    assert seen == [79, True]
    assert watch("n.nvmlEventSetWait_v2(s, 20000)") == LOST


def test_a_wait_goes_on_for_the_others_where_the_scenario_says_so(scenario, watch, settle):
    with scenario.together():
        scenario.set("global", "lost_ends_wait", 0)
        scenario.lose(2)
    settle()
    assert watch("n.nvmlEventSetWait_v2(s, 30)") == TIMEOUT
    scenario.xid(5, 48)
    assert watch(WAIT.format(20_000)) == [5, 8, 48]


def test_before_the_start_and_without_a_driver_there_is_nothing(scenario, start, tmp_path):
    client = start(scenario.environment(), initialised=False)
    assert client("n.nvmlDeviceGetCount()") == {"code": 1}
    scenario.fail("global", "nvmlInitWithFlags", 9)
    client = start(scenario.environment(), initialised=False)
    assert client("n.nvmlInit()") == {"code": 9}
    nowhere = {**scenario.environment(), "RANKSCOPE_NVML_STUB": str(tmp_path / "none")}
    assert start(nowhere, initialised=False)("n.nvmlInit()") == {"code": 9}


def test_a_scenario_that_is_taken_away_stays_in_force(scenario, client, settle):
    scenario.path.unlink()
    settle()
    assert everywhere(client) == [612_000] * 8


def test_changes_made_together_are_seen_together(scenario, client, settle, until):
    both = "[n.nvmlDeviceGetTemperature(d[0], 0), n.nvmlDeviceGetPowerUsage(d[0])]"
    with scenario.together():
        scenario.set(0, "temperature_c", 90)
        settle()
        assert client(both) == [58, 612_000]
        scenario.set(0, "power_mw", 200_000)
    until(lambda: client(both) == [90, 200_000])


def test_a_value_of_two_lines_is_refused(scenario):
    with pytest.raises(ValueError, match="one line"):
        scenario.set(0, "name", "two\nlines")


def test_without_a_compiler_the_error_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(nvml.NoCompilerError, match="install gcc"):
        nvml.library(folder=tmp_path)


def test_a_built_library_is_used_again(tmp_path, program):
    program("gcc")
    first = nvml.library(folder=tmp_path) / nvml.LIBRARY
    made = first.stat().st_mtime_ns
    assert nvml.library(folder=tmp_path) / nvml.LIBRARY == first
    assert first.stat().st_mtime_ns == made
    assert nvml.library(folder=tmp_path, without=["nvmlShutdown"]) != first.parent


def test_a_node_may_have_more_devices_than_the_usual_eight(tmp_path, start):
    client = start(NvmlScenario(tmp_path, profile="T4", gpus=16).environment())
    assert client("n.nvmlDeviceGetCount()") == 16
    address = "n.nvmlDeviceGetPciInfo(n.nvmlDeviceGetHandleByIndex(i)).busId"
    assert len(set(client(f"[{address} for i in range(16)]"))) == 16
