"""What a child measures on this machine: something, in its unit; or why not."""

import statistics
from pathlib import Path

import pytest

from rankscope.checks.measurements import (
    MEASUREMENTS,
    accelerators,
    cores,
    disks,
    matrices,
    names,
    time_shares,
)
from rankscope.checks.measurements.rows import MOST_SAMPLES, CheckOrder, MeasuredRow, repeated
from rankscope.checks.measurements.time_shares import HostTimes, ProcessTimes, between


def order(check="x", **more):
    return CheckOrder(check, seconds=0.05, fraction=0.1, **more)


@pytest.mark.parametrize(
    "name", ["dns", "rendezvous", "cpu", "local_disk", "arithmetic", "matmul", "memory_bandwidth"]
)
def test_it_is_measured_on_a_node_without_a_device(name, tmp_path):
    given = order(name, names=("localhost",), temporary_path=str(tmp_path))
    (row,) = MEASUREMENTS[name](given)
    assert ("", "") == (row.missing, row.failed)
    assert row.samples


@pytest.mark.parametrize("name", ["host_device_copy", "peer_copy"])
def test_what_needs_a_device_says_that_there_is_none(name, monkeypatch):
    monkeypatch.setattr(accelerators, "torch_with_devices", lambda: None)
    (row,) = MEASUREMENTS[name](order(name))
    assert "no CUDA device" in row.missing.replace("shows no", "no")


def test_without_numpy_and_torch_a_product_is_not_measured(monkeypatch):
    monkeypatch.setattr(accelerators, "numpy_module", lambda: None)
    monkeypatch.setattr(accelerators, "torch_module", lambda: None)
    assert "neither torch nor numpy" in matrices.products(order())[0].missing
    assert "numpy is not installed" in matrices.arithmetic(order())[0].missing


@pytest.mark.parametrize("name", ["all_reduce", "all_reduce_halves"])
def test_without_torch_an_all_reduce_is_not_measured(name, monkeypatch):
    monkeypatch.setattr(accelerators, "torch_module", lambda: None)
    assert "torch is not installed" in MEASUREMENTS[name](order(name))[0].missing


def test_added_work_makes_it_slower_by_as_much():
    """The samples in the middle, in turns: one that something else held up says nothing of it."""
    usual: list[float] = []
    slower: list[float] = []
    for _ in range(3):
        usual += cores.hashing(order())[0].samples
        slower += cores.hashing(order(extra=2.0))[0].samples
    assert statistics.median(slower) < 0.8 * statistics.median(usual)


def test_a_name_that_is_not_resolved_has_failed():
    (row,) = names.resolution(order(names=("nobody.invalid",)))
    assert row.failed.startswith("nobody.invalid is not resolved")


def test_a_folder_that_is_not_there_has_failed(tmp_path):
    (row,) = disks.local_disk(order(temporary_path=str(tmp_path / "none")))
    assert "No such file" in row.failed


def test_a_folder_of_shared_storage_that_is_named_is_measured(tmp_path):
    (row,) = disks.shared_disk(order(shared_path=str(tmp_path)))
    assert row.samples
    assert [] == list(tmp_path.iterdir())


def test_rows_travel_as_json_objects():
    row = MeasuredRow("GPU-1", (1.0, 2.0), "kind", 0.75, withheld=0.1, waited=0.2, others=0.3)
    assert row == MeasuredRow.read(row.document())
    given = order("cpu", names=("a", "b"))
    assert given == CheckOrder.read(given.document())


def test_repeats_are_bounded_and_the_first_is_left_out():
    values = iter(range(10_000))
    found = repeated(lambda: float(next(values)), seconds=1e9, now=lambda: 0.0)
    assert (1.0, MOST_SAMPLES) == (found[0], len(found))


def test_what_others_had_of_all_cpus_is_what_was_busy_and_not_its_own():
    before = HostTimes(total=100.0, busy=50.0, own=3.0)
    assert 0.4 == pytest.approx(before.others_until(HostTimes(120.0, 60.0, 5.0)))
    assert 0.0 == before.others_until(HostTimes(120.0, 52.0, 6.0))
    assert 0.0 == before.others_until(before)


@pytest.mark.parametrize(
    ("cpu", "queued", "stolen", "throttled", "withheld", "waited"),
    [
        (10.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        (7.0, 3.0, 0.0, 0.0, 0.0, 0.3),
        (9.0, 0.0, 0.0, 1.0, 0.1, 0.0),
        (9.0, 0.0, 1.0, 0.0, 0.1, 0.0),
        (9.0, 0.0, 0.0, 0.0, 0.1, 0.0),
        (8.0, 2.0, 0.0, 1.0, 0.1, 0.1),
    ],
    ids=["alone", "others ran", "a quota", "stolen", "stopped", "a quota beside others"],
)
def test_time_off_the_cpu_is_others_or_withheld(cpu, queued, stolen, throttled, withheld, waited):
    start = ProcessTimes(0.0, 0.0, 0.0, 0.0, 0.0)
    found = between(start, ProcessTimes(10.0, cpu, queued, stolen, throttled))
    assert (withheld, waited) == pytest.approx((found.withheld, found.waited))


@pytest.mark.parametrize(
    ("own", "folder", "line"),
    [
        ("0::/train.slice/job", "train.slice", "throttled_usec 1500000"),
        ("1:cpu,cpuacct:/train/job\n0::/", "cpu/train/job", "throttled_time 1500000000"),
        ("1:cpu:/seen/by/the/host/alone", "cpu", "throttled_time 1500000000"),
    ],
    ids=["of a group above its own", "version 1", "in a container"],
)
def test_a_quota_of_its_own_group_is_found(
    own: str, folder: str, line: str, tmp_path: Path
) -> None:
    (tmp_path / "own").write_text(own)
    (tmp_path / folder).mkdir(parents=True)
    (tmp_path / folder / "cpu.stat").write_text(f"nr_periods 10\n{line}\n")
    found = time_shares.throttled(own=tmp_path / "own", root=tmp_path)
    assert 1.5 == pytest.approx(found)
