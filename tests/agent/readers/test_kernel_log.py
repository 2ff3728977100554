import errno
import os
import stat
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests import waiting

from rankscope.agent import kernel_source
from rankscope.agent.devices import DeviceRegister, KnownDevice
from rankscope.agent.health import AgentHealth
from rankscope.agent.readers import kernel_log
from rankscope.agent.readers.kernel_log import KernelLogReader
from rankscope.vocabulary import events
from rankscope.vocabulary.samples import Event

XID = "NVRM: Xid (PCI:0000:05:00): {}, pid={}, name=python3, {}"
OOM = "oom-kill:constraint=CONSTRAINT_MEMCG,task_memcg=/pod/a,task=python3,pid={},uid=0"


@dataclass
class Node:
    """A kernel log made of a FIFO or a file, and a reader of it."""

    path: Path
    state: Path
    told: list[tuple[float, Event]] = field(default_factory=list)
    health: AgentHealth = field(default_factory=AgentHealth)
    devices: DeviceRegister = field(default_factory=DeviceRegister)
    boot: str = "boot-1"
    booted_at: float = field(default_factory=lambda: time.time() - 86400.0)
    running: list[KernelLogReader] = field(default_factory=list)
    sequence: int = 0

    def start(self, **more) -> KernelLogReader:
        reader = KernelLogReader(
            path=self.path,
            emit=lambda event: self.told.append((time.time(), event)),
            health=self.health,
            period=5.0,
            devices=self.devices,
            state=self.state,
            boot_id=self.boot,
            booted_at=self.booted_at,
            **more,
        )
        assert reader.supported() == (True, "")
        reader.read(time.time())
        self.running.append(reader)
        thread = reader._thread
        assert thread is not None
        # What was there before it came is read by itself.
        waiting.until(lambda: not (reader._history and thread.is_alive()), "the log's past")
        return reader

    def record(self, text: str, *, ago: float = 0.0) -> bytes:
        self.sequence += 1
        stamp = int((time.time() - self.booted_at - ago) * 1e6)
        return f"4,{self.sequence},{stamp},-;{text}\n".encode()

    def write(self, *texts: str, ago: float = 0.0) -> None:
        data = b"".join(self.record(text, ago=ago) for text in texts)
        with self.path.open("ab", buffering=0) as file:
            file.write(data)

    @property
    def events(self) -> list[Event]:
        return [event for _, event in self.told]

    def codes(self) -> list[object]:
        return [event.attributes.get("code") for event in self.events]


@pytest.fixture
def node(tmp_path):
    one = Node(tmp_path / "kmsg", tmp_path)
    yield one
    for reader in one.running:
        reader.close()


@pytest.fixture
def piped(node):
    os.mkfifo(node.path)
    return node


@pytest.fixture
def filed(node):
    node.path.touch()
    return node


def test_an_xid_is_told_with_device_process_and_text_as_the_vocabulary_has_it(piped, until):
    piped.devices.note(KnownDevice("GPU-a", 0, "0000:05:00.0"))
    piped.start()
    piped.write("usb 1-1: new device", XID.format(79, 4711, "GPU has fallen off the bus."))
    until(lambda: piped.told)
    (event,) = piped.events
    assert ("gpu.fault", "GPU-a", "79", "nvidia", 4711, "kmsg") == (
        event.name,
        *(event.attributes[key] for key in ("hw.id", "code", "vendor", "pid", "source")),
    )
    assert "fallen off the bus" in str(event.attributes["text"])
    assert set(event.attributes) <= set(events.catalogue()["gpu.fault"].attributes)
    assert abs(event.at - time.time()) < 20


def test_a_device_nobody_knows_is_named_by_its_address(piped, until):
    piped.start()
    piped.write(XID.format(48, 1, "DBE"))
    until(lambda: piped.told)
    assert "pci:0000:05:00.0" == piped.events[0].attributes["hw.id"]


def test_an_oom_kill_and_a_known_line_are_told_as_the_vocabulary_has_them(piped, until):
    piped.start()
    piped.write(OOM.format(4711), "INFO: task python3:99 blocked for more than 120 seconds.")
    until(lambda: len(piped.told) == 2)
    kill, hung = piped.events
    assert ("host.oom_kill", 4711, "/pod/a") == (
        kill.name,
        kill.attributes["pid"],
        kill.attributes["cgroup"],
    )
    assert ("log.fault", "task.hung", "cascade", 99) == (
        hung.name,
        *(hung.attributes[key] for key in ("signature", "role", "pid")),
    )
    for event in (kill, hung):
        assert set(event.attributes) <= set(events.catalogue()[event.name].attributes)


def test_a_line_wakes_the_reader_which_waits_for_no_turn_of_its_own(piped, until, monkeypatch):
    monkeypatch.setattr(kernel_log, "_TURN_SECONDS", 3600.0)
    piped.start()
    for number in range(50):
        before = len(piped.told)
        piped.write(XID.format(100 + number % 60, number, "x") + str(number))
        until(lambda before=before: len(piped.told) > before)


def test_a_storm_is_one_event_and_a_different_code_in_it_is_told(piped, until):
    piped.start()
    line = XID.format(95, 4711, "Uncontained: LTC TAG (0x2,0x1)")
    for _ in range(20):
        piped.write(*[line] * 500)
    piped.write(XID.format(79, 4711, "x"))
    for _ in range(20):
        piped.write(*[line] * 500)
    until(lambda: piped.health.counted("kernel_log_lines") == 20_001)
    assert ["95", "79"] == piped.codes()
    assert 0 == piped.health.counted("kernel_log_lost")


def test_a_storm_whose_lines_differ_in_the_process_only_is_one_storm(piped, until):
    piped.start()
    for start in range(0, 10_000, 500):
        piped.write(*[XID.format(31, pid, f"Ch {pid:08x}") for pid in range(start, start + 500)])
    until(lambda: piped.health.counted("kernel_log_lines") == 10_000)
    assert ["31"] == piped.codes()


def test_what_a_line_itself_says_of_its_gravity_is_not_folded_away(piped, until):
    piped.start()
    link = "NVRM: Xid (PCI:0000:05:00): 149, NETIR_LINK_EVT {} XC0 i0 Link 08 (0x1)"
    asks = "NVRM: Xid (PCI:0000:05:00): 154, GPU recovery action changed from 0x0 (x) to 0x{} (y)"
    piped.write(*[link.format("Nonfatal")] * 100, link.format("Fatal"))
    piped.write(*[asks.format(1)] * 100, asks.format(2), asks.format(0))
    until(lambda: piped.health.counted("kernel_log_lines") == 203)
    assert [
        ("149", "warning"), ("149", "fatal"), ("154", "gpu_reset"), ("154", "node_reboot"),
        ("154", "none"),
    ] == [
        (event.attributes["code"], event.attributes.get("action") or event.attributes["class"])
        for event in piped.events
    ]  # fmt: skip


def test_the_end_of_a_storms_minute_says_how_many_there_were(piped, until):
    clock = [1000.0]
    reader = piped.start(now=lambda: clock[0])
    piped.write(*[XID.format(95, 1, "x")] * 100)
    until(lambda: piped.health.counted("kernel_log_lines") == 100)
    clock[0] += 61.0
    until(lambda: len(piped.told) == 2)
    first, summary = piped.events
    assert "count" not in first.attributes
    assert 99 == summary.attributes["count"]
    assert 1000.0 == summary.at, "when the last of them came, not when they were counted"
    reader.close()


def test_equal_lines_of_two_devices_and_two_processes_killed_are_not_folded(piped, until):
    piped.start()
    piped.write(
        XID.format(95, 1, "x"),
        XID.format(95, 1, "x").replace("05:00", "06:00"),
        OOM.format(1),
        OOM.format(2),
    )
    until(lambda: len(piped.told) == 4)
    assert ["gpu.fault", "gpu.fault", "host.oom_kill", "host.oom_kill"] == [
        event.name for event in piped.events
    ]


def test_lines_cut_anywhere_and_lines_without_a_record_are_read(piped, until):
    piped.start()
    data = piped.record(XID.format(48, 1, "x")) + b" SUBSYSTEM=pci\n DEVICE=+pci:0000:05:00.0\n"
    data += b"[ 12.5] " + XID.format(63, 1, "y").encode() + b"\n"
    with piped.path.open("ab", buffering=0) as file:
        for place in range(len(data)):
            file.write(data[place : place + 1])
    until(lambda: len(piped.told) == 2)
    assert ["48", "63"] == piped.codes()


def test_rubbish_does_not_stop_the_reader(piped, until):
    piped.start()
    with piped.path.open("ab", buffering=0) as file:
        for _ in range(40):
            file.write(bytes(range(256)) * 4)
        file.write(b"\n;\n,,;\nNVRM\n" + b"4,99999999999999999999999,1,-;x\n")
    piped.write(XID.format(79, 1, "x"))
    until(lambda: "79" in piped.codes())


def test_the_first_start_tells_the_faults_of_the_last_hour_with_the_time_they_had(filed, until):
    filed.write(XID.format(62, 1, "old"), ago=7200.0)
    filed.write(XID.format(79, 1, "new"), OOM.format(5), ago=600.0)
    filed.start(lookback_seconds=3600.0)
    filed.write(XID.format(48, 1, "now"))
    until(lambda: "48" in filed.codes())
    assert ["79", "48"] == filed.codes()
    assert abs(time.time() - 600 - filed.events[0].at) < 20


def test_a_machine_that_was_just_booted_tells_what_it_logged_since(filed, until):
    filed.booted_at = time.time() - 30.0
    filed.write(XID.format(62, 1, "at boot"), ago=29.0)
    filed.start(lookback_seconds=3600.0)
    filed.write(XID.format(48, 1, "now"))
    until(lambda: "48" in filed.codes())
    assert ["62", "48"] == filed.codes()


def test_a_log_of_times_without_a_year_tells_only_the_faults_of_the_last_hour(filed, until):
    old, new = (time.strftime("%b %e %H:%M:%S", time.localtime(time.time() - ago))
                for ago in (21 * 86_400.0, 600.0))  # fmt: skip
    filed.path.write_text(
        f"{old} node-a kernel: {XID.format(62, 1, 'old')}\n"
        f"{new} node-a kernel: {XID.format(79, 1, 'new')}\n"
    )
    filed.start(lookback_seconds=3600.0)
    until(lambda: filed.told)
    assert ["79"] == filed.codes()
    assert abs(time.time() - 600 - filed.events[0].at) < 20


def test_a_restart_repeats_nothing_and_loses_nothing(filed, until):
    reader = filed.start()
    filed.write(XID.format(79, 1, "x"), OOM.format(5))
    until(lambda: len(filed.told) == 2)
    reader.close()
    filed.write(XID.format(48, 1, "while away"), OOM.format(6), ago=30.0)
    again = filed.start()
    filed.write(XID.format(63, 1, "now"))
    until(lambda: "63" in filed.codes())
    assert ["79", None, "48", None, "63"] == filed.codes()
    assert [5, 6] == [
        event.attributes["pid"] for event in filed.events if event.name == "host.oom_kill"
    ]
    again.close()


def test_another_boot_starts_counting_anew(filed, until):
    filed.start().close()
    filed.write(XID.format(79, 1, "x"))
    first = filed.start()
    until(lambda: "79" in filed.codes())
    first.close()
    filed.path.write_bytes(b"")
    filed.boot, filed.sequence = "boot-2", 0
    filed.start()
    filed.write(XID.format(48, 1, "x"))
    until(lambda: "48" in filed.codes())
    assert 0 == filed.health.counted("kernel_log_lost")


def test_gaps_in_the_numbers_are_counted_as_lost(piped, until):
    piped.start()
    piped.write("a line")
    piped.sequence += 250
    piped.write(XID.format(79, 1, "x"))
    until(lambda: piped.told)
    assert 250 == piped.health.counted("kernel_log_lost")


def test_a_file_that_is_cut_is_read_from_its_beginning(filed, until):
    filed.start()
    filed.write("a long line of no interest at all", XID.format(79, 1, "x"))
    until(lambda: "79" in filed.codes())
    filed.path.write_bytes(b"")
    filed.write(XID.format(48, 1, "x"))
    until(lambda: "48" in filed.codes())


def test_a_log_that_is_not_there_or_may_not_be_opened_says_what_would_help(tmp_path, monkeypatch):
    health = AgentHealth()
    reader = KernelLogReader(
        path=tmp_path / "none", emit=lambda _: None, health=health, period=5.0, boot_id="b"
    )
    supported, reason = reader.supported()
    assert not supported
    assert "mount" in reason

    def refuse(*_):
        raise PermissionError(errno.EPERM, "Operation not permitted")

    (tmp_path / "none").touch()
    monkeypatch.setattr(os, "open", refuse)
    supported, reason = reader.supported()
    assert not supported
    assert "full profile" in reason
    shown = {
        labels: value
        for measure, values in health.everything(0.0)
        if measure.name == "rankscope_agent_source_up"
        for labels, value in values.items()
    }
    assert {("kernel_log",): 0.0} == shown


@pytest.fixture
def ring(piped, monkeypatch):
    """Answer reads as /dev/kmsg does: a record each, EPIPE once when some were overwritten."""
    answers: list[bytes | int] = []
    real_read, real_stat = os.read, os.stat

    def read(fd, size):
        if size != kernel_source._RECORD:
            return real_read(fd, size)
        if not answers:
            raise BlockingIOError(errno.EAGAIN, "")
        answer = answers.pop(0)
        if isinstance(answer, int):
            raise OSError(answer, os.strerror(answer))
        return answer

    class Character:
        st_mode = stat.S_IFCHR | 0o600

    monkeypatch.setattr(os, "read", read)
    monkeypatch.setattr(
        Path,
        "stat",
        lambda self, **kw: Character() if self == piped.path else real_stat(self, **kw),
    )
    return answers


def test_a_ring_that_wraps_costs_what_was_overwritten_and_no_more(piped, ring, until):
    ring += [piped.record(XID.format(79, 1, "x")), piped.record("line")]
    piped.sequence += 1000
    ring += [errno.EPIPE, piped.record("line"), errno.EINVAL, piped.record(XID.format(48, 1, "x"))]
    reader = piped.start()
    until(lambda: len(piped.told) == 2)
    assert ["79", "48"] == piped.codes()
    assert 1000 == piped.health.counted("kernel_log_lost")
    assert reader._thread is not None
    assert reader._thread.is_alive()


def test_a_source_that_fails_is_counted_and_opened_again(piped, ring, until):
    ring += [piped.record(XID.format(79, 1, "x")), errno.EIO]
    reader = piped.start()
    until(lambda: reader._thread is not None and not reader._thread.is_alive())
    ring += [piped.record(XID.format(48, 1, "x"))]
    with pytest.raises(OSError, match="Input/output"):
        reader.read(time.time())
    until(lambda: "48" in piped.codes())
    assert "79" not in piped.codes()[1:], "what was read before is not told again"


def test_the_real_log_of_this_machine_is_followed_where_it_may_be_read(tmp_path, until):
    health = AgentHealth()
    reader = KernelLogReader(
        path=Path("/dev/kmsg"), emit=lambda _: None, health=health, period=5.0, state=tmp_path
    )
    supported, reason = reader.supported()
    if not supported:
        assert "full profile" in reason
        return
    reader.read(time.time())
    until(lambda: health.counted("kernel_log_lines") > 0)
    reader.close()
    assert (tmp_path / "kernel_log.json").exists()
