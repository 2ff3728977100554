import pytest

from rankscope.agent.readers.cpu import CpuReader


def stat(*rows: tuple[int, ...]) -> str:
    lines = ["cpu  1 1 1 1 1 1 1 1 0 0"]
    lines += [f"cpu{row[0]} {' '.join(map(str, row[1:]))} 0 0" for row in rows]
    return "\n".join([*lines, "intr 12345 " + "0 " * 500, "procs_blocked 3"]) + "\n"


def read(reader, root, *rows):
    (root / "stat").write_text(stat(*rows))
    return {sample.metric: sample.value for sample in reader.read(1.0)}


@pytest.fixture
def root(proc):
    return proc(stat="")


def test_utilisation_is_what_was_neither_idle_nor_waiting_nor_stolen(root):
    reader = CpuReader(period=5, proc=root, allowed=lambda: {0})
    assert "system.cpu.utilization" not in read(reader, root, (0, 0, 0, 0, 0, 0, 0, 0, 0))
    # user nice system idle iowait irq softirq steal
    found = read(reader, root, (0, 10, 5, 5, 60, 10, 3, 2, 5))
    assert found["system.cpu.utilization"] == pytest.approx(0.25)
    assert found["system.cpu.steal"] == pytest.approx(0.05)


def test_only_cpus_that_the_agent_may_run_on_count(root):
    """An agent pinned to a part of the machine reports that part as its host."""
    reader = CpuReader(period=5, proc=root, allowed=lambda: {1, 3})
    read(reader, root, *[(cpu, 0, 0, 0, 0, 0, 0, 0, 0) for cpu in range(4)])
    found = read(
        reader,
        root,
        (0, 100, 0, 0, 0, 0, 0, 0, 100),
        (1, 100, 0, 0, 0, 0, 0, 0, 0),
        (2, 100, 0, 0, 0, 0, 0, 0, 100),
        (3, 0, 0, 0, 100, 0, 0, 0, 0),
    )
    assert found == {
        "system.cpu.utilization": 0.5,
        "system.cpu.logical.count": 2.0,
        "system.cpu.steal": 0.0,
    }


def test_a_cpuset_that_changes_is_followed_without_a_wrong_share(root):
    allowed = [{0}]
    reader = CpuReader(period=5, proc=root, allowed=lambda: allowed[0])
    read(reader, root, (0, 0, 0, 0, 0, 0, 0, 0, 0), (1, 900, 0, 0, 0, 0, 0, 0, 0))
    allowed[0] = {0, 1}
    found = read(reader, root, (0, 50, 0, 0, 50, 0, 0, 0, 0), (1, 990, 0, 0, 0, 0, 0, 0, 0))
    assert found["system.cpu.utilization"] == 0.5
    assert found["system.cpu.logical.count"] == 2.0


def test_a_cpu_that_was_taken_offline_and_counts_anew_is_left_out_once(root):
    reader = CpuReader(period=5, proc=root, allowed=lambda: {0, 1})
    read(reader, root, (0, 0, 0, 0, 0, 0, 0, 0, 0), (1, 90000, 0, 0, 90000, 0, 0, 0, 0))
    found = read(reader, root, (0, 25, 0, 0, 75, 0, 0, 0, 0), (1, 5, 0, 0, 5, 0, 0, 0, 0))
    assert found["system.cpu.utilization"] == 0.25


def test_no_time_passed_is_no_share(root):
    reader = CpuReader(period=5, proc=root, allowed=lambda: {0})
    row = (0, 5, 5, 5, 5, 5, 5, 5, 5)
    read(reader, root, row)
    assert "system.cpu.utilization" not in read(reader, root, row)
