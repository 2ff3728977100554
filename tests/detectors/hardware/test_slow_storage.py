"""Hosts whose processes wait for storage: busy disks, pressure, and processes that are blocked."""

import numpy as np
import pytest

from rankscope.detectors.hardware.slow_storage import SlowStorageDetector
from rankscope.detectors.sketch import START, readings, sketch

PRESSURE = "system.pressure|some|io"


@pytest.fixture
def found(steady):
    """Return a function that evaluates the storage of four hosts over ten minutes."""

    def evaluate(held, events=()):
        window = sketch(steady(ranks=8), hosts=4, now=START + 600, host_readings=held,
                        events=tuple(events))  # fmt: skip
        return SlowStorageDetector().evaluate(window)

    return evaluate


@pytest.fixture
def pressed(levels):
    """Return a function that draws a sign that is high on some hosts from second 400 on."""
    return lambda usual, odd, which, **how: levels(
        4, usual, odd, which, since=400, seconds=600, **how
    )


@pytest.mark.parametrize(
    ("metric", "usual", "odd", "counter"),
    [
        (PRESSURE, 0.02, 0.8, False),
        ("system.processes.blocked", 0.1, 12, False),
        ("system.disk.io_time|nvme0n1", 0.5, 4.9, True),
    ],
)
def test_a_sign_that_rose_on_one_host_is_evidence_about_its_storage(
    found, pressed, metric, usual, odd, counter
):
    (finding,) = found({metric: pressed(usual, odd, 2, counter=counter)})
    assert ("storage.slow", "host-2:/", (4, 5)) == (
        finding.kind, finding.entity.id, tuple(finding.entity.ranks),
    )  # fmt: skip
    assert finding.onset[0] <= START + 400 <= finding.onset[1] + 60


def test_the_mount_that_is_written_to_is_named(found, pressed, levels):
    used = levels(4, 0.5, 0.6, 2, since=450, seconds=600)
    held = {PRESSURE: pressed(0.02, 0.8, 2), "system.filesystem.utilization|/scratch": used}
    assert ["host-2:/scratch"] == [f.entity.id for f in found(held)]


def test_what_all_hosts_wait_for_is_the_mount_that_they_share(found, pressed, levels):
    shared = levels(4, 0.6180, seconds=600)
    held = {PRESSURE: pressed(0.02, 0.8, [0, 1, 2, 3]),
            "system.filesystem.utilization|/data": shared}  # fmt: skip
    (finding,) = found(held)
    assert ("/data", 8) == (finding.entity.id, len(finding.entity.ranks))


@pytest.mark.parametrize(("used", "entities"), [(0.02, ["shared"]), (4.5, None)])
def test_hosts_that_wait_together_while_their_disks_rest_wait_for_storage_elsewhere(
    found, pressed, levels, used, entities
):
    """A network file system of which nobody reports the usage; busy disks are the hosts' own."""
    held = {PRESSURE: pressed(0.02, 0.8, [0, 1, 2, 3]),
            "system.filesystem.utilization|/local": levels(4, 0.4, 0.5, 1, seconds=600),
            "system.disk.io_time|nvme0n1": levels(4, used, seconds=600, counter=True)}  # fmt: skip
    assert (entities or [f"host-{n}:/local" for n in range(4)]) == sorted(
        f.entity.id for f in found(held)
    )


def test_some_hosts_of_many_that_wait_together_wait_for_what_they_share(steady, levels):
    blocked = levels(8, 0.0, 4.0, [2, 5, 6], since=400, seconds=600)
    window = sketch(steady(ranks=16), hosts=8, now=START + 600,
                    host_readings={"system.processes.blocked": blocked})  # fmt: skip
    (finding,) = SlowStorageDetector().evaluate(window)
    assert ("shared", 6) == (finding.entity.id, len(finding.entity.ranks))


def test_one_reading_of_blocked_processes_says_little(steady):
    """A host that reports each minute, and counted three processes just now."""
    at = START + np.arange(400.0, 601, 60)
    counts = np.zeros((2, len(at)))
    counts[1, -1] = 3.0
    window = sketch(steady(), hosts=2, now=START + 600, host_readings={
        "system.processes.blocked": readings(at[-1:], counts[:, -1:])})  # fmt: skip
    assert [] == SlowStorageDetector().evaluate(window)


def test_a_host_waits_for_the_file_server_that_its_kernel_complains_of(found, pressed, event):
    line = event("log.fault", 590, host="host-1", job=None, signature="nfs.not_responding",
                 text="nfs: server nfs01 not responding, still trying")  # fmt: skip
    made = found({"system.processes.blocked": pressed(0.1, 12, 2)}, [line])
    assert {("storage.slow", "shared"), ("storage.error", "shared")} == {
        (f.kind, f.entity.id) for f in made
    }
    assert 1 == len({f.entity for f in made})


def test_a_host_that_was_busy_all_along_is_normal_life(found, levels):
    assert [] == found({PRESSURE: levels(4, 0.8, seconds=600)})


def test_a_disk_or_file_system_that_the_kernel_complains_of_is_evidence(found, event):
    line = event("log.fault", 590, host="host-1", job=None, signature="nvme.timeout", text="nvme0")
    (finding,) = found({}, [line])
    assert ("storage.error", "host-1:/") == (finding.kind, finding.entity.id)


def test_a_server_that_does_not_answer_is_storage_of_all_hosts_that_say_so(found, event):
    lines = [
        event("log.fault", 590 + number, host=f"host-{number}", job=None,
              signature="nfs.not_responding", text="nfs: server nfs01 not responding, still trying")
        for number in (2, 3)
    ]  # fmt: skip
    (finding,) = found({}, lines)
    assert ("storage.error", "shared", None) == (
        finding.kind,
        finding.entity.id,
        finding.entity.host,
    )
    assert 4 == len(finding.entity.ranks)
    assert "nfs01" in finding.text


def test_processes_that_wait_for_a_devices_driver_do_not_wait_for_storage(steady, levels, event):
    blocked = levels(2, 0.0, 4.0, 1, since=150, seconds=200)
    held = {"system.processes.blocked": blocked}
    call = event("gpu.fault", 150, host="host-1", code="nvml.hung")
    found = [
        len(
            SlowStorageDetector().evaluate(
                sketch(steady(steps=200), host_readings=held, events=events)
            )
        )
        for events in ((), (call,))
    ]
    assert [1, 0] == found


def test_processes_blocked_where_no_device_gives_a_reading_do_not_wait_for_storage(steady, levels):
    held = {"system.processes.blocked": levels(2, 0.0, 4.0, 1, since=150, seconds=200)}
    read, silent = levels(4, 500, seconds=200), levels(4, 500, seconds=200)
    silent.at[2:, silent.at[0] > START + 150] = np.nan
    found = [
        len(SlowStorageDetector().evaluate(sketch(
            steady(steps=200), now=START + 200, host_readings=held,
            rank_readings={"hw.power": power},
        )))
        for power in (read, silent)
    ]  # fmt: skip
    assert [1, 0] == found


def test_tasks_that_wait_a_fifth_of_the_time_and_hardly_did_before_show_slow_storage(
    steady, levels
):
    waits = levels(2, 0.002, 0.2, (0, 1), since=150, seconds=200)
    window = sketch(steady(steps=200), host_readings={"system.pressure|some|io": waits})
    assert ["shared"] == [found.entity.id for found in SlowStorageDetector().evaluate(window)]


def test_a_mount_of_the_hosts_own_is_named_where_no_usage_changes(found, pressed, levels):
    held = {PRESSURE: pressed(0.02, 0.8, 2),
            "system.filesystem.utilization|/scratch": levels(4, 0.5, 0.4, 1, since=0, seconds=600),
            "system.filesystem.utilization|/data": levels(4, 0.63, seconds=600)}  # fmt: skip
    assert ["host-2:/scratch"] == [f.entity.id for f in found(held)]


@pytest.mark.parametrize(
    ("waits", "idle", "named"), [(0.004, 0.6, 0), (0.02, 0.6, 1), (0.004, 0.02, 1)]
)
def test_blocked_processes_wait_for_no_storage_where_idle_cpus_count_no_more_waits(
    steady, levels, waits, idle, named
):
    held = {
        "system.processes.blocked": levels(2, 0.0, 4.0, 1, since=150, seconds=200),
        "system.cpu.utilization|iowait": levels(2, 0.004, waits, 1, since=150, seconds=200),
        "system.cpu.utilization|idle": levels(2, 0.7, idle, 1, since=150, seconds=200),
    }
    window = sketch(steady(4, 200), host_readings=held)
    assert named == len(SlowStorageDetector().evaluate(window))
