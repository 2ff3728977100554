"""What the driver and the bus say of devices: limits, heat, strangers, lanes."""

import itertools
import subprocess

import pytest

from rankscope.checks.measurements import devices
from rankscope.checks.measurements.rows import CheckOrder

ORDER = CheckOrder("device_heat", seconds=0.0)
ORDER_OF_TEN = CheckOrder("device_answers", seconds=10.0)
A, B = "GPU-00000000-0000-0000-0000-00000000000a", "GPU-00000000-0000-0000-0000-00000000000b"


def answering(**answers):
    """Return an nvidia-smi that answers queries of these fields, each next time the next text."""
    turns = {name: itertools.cycle([text] if isinstance(text, str) else text)
             for name, text in answers.items()}  # fmt: skip

    def ask(arguments):
        asked = arguments[0].partition("=")[2].replace(",", "_").replace(".", "_")
        if asked not in turns:
            raise subprocess.CalledProcessError(2, "nvidia-smi")
        return next(turns[asked])

    return ask


def values(rows):
    return {row.device: row.samples for row in rows}


@pytest.mark.parametrize("asked", ["event", "throttle"])
@pytest.mark.parametrize(
    ("reasons", "share"),
    [
        pytest.param("0x0000000000000040", 1.0, id="hardware thermal slowdown"),
        pytest.param("0x0000000000000024", 1.0, id="software thermal slowdown, and the power cap"),
        pytest.param("0x0000000000000004", 0.0, id="the power cap alone"),
        pytest.param("0x0000000000000000", 0.0, id="nothing"),
    ],
)
def test_heat_is_told_from_what_else_holds_the_clocks(asked, reasons, share):
    text = f"{A}, {reasons}\n{B}, 0x0000000000000000\n"
    rows = devices.heat(ORDER, ask=answering(**{f"uuid_clocks_{asked}_reasons_active": text}))
    assert {A: (share,), B: (0.0,)} == values(rows)


def test_a_driver_that_does_not_answer_is_not_measured():
    (row,) = devices.heat(ORDER, ask=answering())
    assert row.missing.startswith("nvidia-smi: ")


def test_a_driver_that_knows_no_reasons_is_not_measured():
    text = f"{A}, [N/A]\n"
    (row,) = devices.heat(ORDER, ask=answering(uuid_clocks_event_reasons_active=text))
    assert "does not say" in row.missing


def test_power_limits_are_compared_among_devices_of_one_model():
    ask = answering(
        uuid_clocks_event_reasons_active=f"{A}, 0x0\n{B}, 0x0\n",
        uuid_enforced_power_limit_name=f"{A}, 350.00, NVIDIA H100\n{B}, 700.00, NVIDIA H100\n",
    )
    rows = devices.power(ORDER, ask=ask)
    assert {A: (350.0,), B: (700.0,)} == values(rows)
    assert {"NVIDIA H100, limit"} == {row.kind for row in rows}


def test_a_board_that_brakes_has_failed_whatever_its_limit():
    ask = answering(
        uuid_clocks_event_reasons_active=f"{A}, 0x80\n",
        uuid_enforced_power_limit_name=f"{A}, 700.00, NVIDIA H100\n",
    )
    (row,) = devices.power(ORDER, ask=ask)
    assert "power brake" in row.failed


@pytest.fixture
def processes(tmp_path):
    """Return a function that gives the node a process and the one that started it."""

    def add(pid, parent):
        folder = tmp_path / "proc" / str(pid)
        folder.mkdir(parents=True)
        (folder / "stat").write_text(f"{pid} (python (train)) S {parent} 1 1 0")

    return add


def test_a_process_that_no_rank_started_is_a_stranger(processes, tmp_path):
    for pid, parent in ((10, 1), (11, 10), (12, 11), (30, 1)):
        processes(pid, parent)
    ask = answering(uuid=f"{A}\n{B}\n", gpu_uuid_pid=f"{A}, 12\n{A}, 30\n{B}, 10\n{B}, 999\n")
    order = CheckOrder("device_others", ranks=((0, 10),))
    rows = devices.others(order, ask=ask, root=tmp_path)
    assert {A: (1.0,), B: (0.0,)} == values(rows)


def test_without_a_rank_nobody_is_a_stranger(tmp_path):
    (row,) = devices.others(CheckOrder("device_others"), ask=answering(), root=tmp_path)
    assert "no training process" in row.missing


@pytest.fixture
def slot(tmp_path):
    """Return a function that puts a device into the node."""

    def put(name, lanes, *, most=16, model="0x2330", identity=""):
        folder = tmp_path / "sys/bus/pci/devices" / name
        folder.mkdir(parents=True)
        texts = {"vendor": "0x10de", "class": "0x030200", "device": model,
                 "current_link_width": str(lanes), "max_link_width": str(most)}  # fmt: skip
        for key, text in texts.items():
            (folder / key).write_text(f"{text}\n")
        if identity:
            driver = tmp_path / "proc/driver/nvidia/gpus" / name
            driver.mkdir(parents=True)
            (driver / "information").write_text(f"Model: \t\t H100\nGPU UUID: \t {identity}\n")

    return put


@pytest.mark.parametrize(
    ("widths", "lacking"),
    [
        pytest.param([16, 8, 16], [0.0, 8.0, 0.0], id="one lost half of its lanes"),
        pytest.param([8, 8, 8], [0.0, 0.0, 0.0], id="slots that have no more"),
        pytest.param([8], [8.0], id="alone, beside what it can do"),
    ],
)
def test_lanes_are_missed_where_neighbours_have_them(slot, tmp_path, widths, lacking):
    for number, width in enumerate(widths):
        slot(f"0000:0{number}:00.0", width)
    rows = devices.lanes(ORDER, root=tmp_path)
    assert lacking == [row.samples[0] for row in rows]


def test_a_device_is_called_as_telemetry_calls_it(slot, tmp_path):
    slot("0000:01:00.0", 16, identity=A)
    (row,) = devices.lanes(ORDER, root=tmp_path)
    assert A == row.device


def test_a_node_without_accelerators_is_not_measured(tmp_path):
    (row,) = devices.lanes(ORDER, root=tmp_path)
    assert row.missing


SHELL = ("/bin/sh", "-c")


@pytest.fixture
def bound(tmp_path):
    """Return a function that has the driver hold devices of these ids."""

    def hold(*identities):
        for number, identity in enumerate(identities):
            folder = tmp_path / f"proc/driver/nvidia/gpus/0000:0{number}:00.0"
            folder.mkdir(parents=True)
            (folder / "information").write_text(f"GPU UUID: \t {identity}\n")

    return hold


def test_a_device_whose_driver_hangs_is_told_from_its_neighbour(bound, tmp_path):
    bound(A, B)
    hangs = (*SHELL, 'case "$*" in *0000:00:00.0*) exec sleep 60;; esac', "nvidia-smi")
    slow, quick = devices.answers(
        CheckOrder("device_answers", seconds=1.0), command=hangs, root=tmp_path
    )
    assert A == slow.device
    assert "its driver has not answered within" in slow.failed
    assert (B, "") == (quick.device, quick.failed)
    assert len(quick.samples) == 1


def test_a_device_for_which_the_driver_answers_with_an_error_has_failed(bound, tmp_path):
    bound(A)
    (row,) = devices.answers(ORDER_OF_TEN, command=(*SHELL, "exit 15", "x"), root=tmp_path)
    assert "its driver answers with error 15" == row.failed


def test_a_node_whose_driver_holds_nothing_is_not_asked(tmp_path):
    (row,) = devices.answers(ORDER_OF_TEN, command=(*SHELL, "exit 0"), root=tmp_path)
    assert "no driver" in row.missing
