"""`rankscope doctor`: every reader tried on nodes of several kinds."""

import contextlib

import pytest

from bench.node import trees
from rankscope.agent import examination
from rankscope.agent.readers import ReaderContext, catalogue
from rankscope.agent.settings import AgentSettings
from rankscope.lab.node.nvml import NvmlScenario


@pytest.fixture
def examine(tmp_path, monkeypatch, program):
    """Examine a made-up node: its GPUs' profile (None: no driver), and its trees."""
    program("gcc")

    def run(*, driver="H100", network="ndr", gpus=2, **more):
        root = tmp_path / str(len(list(tmp_path.iterdir())))
        node = trees.build(root, gpus=gpus, network=network)
        if driver:
            scenario = NvmlScenario(tmp_path / "driver", profile=driver, gpus=gpus)
            for name, value in scenario.environment().items():
                monkeypatch.setenv(name, value)
        around = ReaderContext(
            settings=AgentSettings(),
            sys=node.files.sys,
            dev=node.files.dev,
            closing=contextlib.ExitStack(),
        )
        found = examination.examine(AgentSettings(), around=around, **more)
        return found, {row.reader: row for row in found.rows}

    return run


def test_every_reader_has_a_row_and_what_is_there_is_reported(examine):
    found, rows = examine()
    assert set(rows) == set(catalogue.entries())
    for name in ("gpu_power", "gpu_nvlink", "gpu_bus", "network_ports", "network_rails"):
        assert rows[name].state in ("yes", "part")
        assert rows[name].reported
    assert found.profile == "restricted"  # this node's /dev/kmsg is not there


def test_what_the_device_does_not_have_is_said_with_the_functions_name(examine):
    _, rows = examine(driver="T4")
    assert rows["gpu_activity"].state == "absent"
    assert "Hopper" in rows["gpu_activity"].reason
    assert rows["gpu_row_remap"].state == "part"
    assert "nvmlDeviceGetRemappedRows" in rows["gpu_row_remap"].missing["hw.gpu.row_remap"]


def test_gpus_on_the_bus_without_a_library_are_a_problem_with_the_way_to_mend_it(
    examine, monkeypatch, tmp_path
):
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    found, rows = examine(driver=None)
    assert rows["gpu_bus"].state == "yes" or rows["gpu_bus"].reported
    assert rows["gpu_power"].state == "no"
    assert "NVIDIA runtime" in rows["gpu_power"].fix
    assert "gpu_power" in {row.reader for row in found.problems}


def test_a_node_without_gpus_or_fabric_has_no_problem_with_them(examine, monkeypatch, tmp_path):
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    found, rows = examine(driver=None, gpus=0, network="none")
    assert rows["gpu_power"].state == "absent"
    assert rows["network_ports"].state in ("absent", "waits", "part", "yes")
    assert not {row.reader for row in found.problems} & {"gpu_power", "network_ports", "exporters"}


def test_what_needs_the_full_profile_is_a_problem_only_there(examine):
    _, rows = examine(profile="restricted")
    assert rows["kernel_log"].state == "profile"
    assert rows["kernel_log"].fix
    found, rows = examine(profile="full")
    assert rows["kernel_log"].state == "no"
    assert "kernel_log" in {row.reader for row in found.problems}
