"""The script for a machine with a GPU: on the driver's double, and what it says without one."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench.device import readings, steps
from bench.device.captures import CaptureFolder
from rankscope.lab.node.nvml import gpu_uuid

ROOT = Path(__file__).parents[2]
NONE = "not measured: torch sees no CUDA device"
SMI = f"""<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log><gpu id="00000000:1B:00.0">
  <persistence_mode>Enabled</persistence_mode>
  <mig_mode><current_mig>Disabled</current_mig></mig_mode>
  <serial>1652923000000</serial><uuid>{gpu_uuid(0)}</uuid>
  <pci><pci_bus>1B</pci_bus><pci_bus_id>00000000:1B:00.0</pci_bus_id>
    <pci_gpu_link_info><pcie_gen><max_link_gen>5</max_link_gen><current_link_gen>5</current_link_gen>
      </pcie_gen><link_widths><max_link_width>16x</max_link_width>
      <current_link_width>16x</current_link_width></link_widths></pci_gpu_link_info>
    <replay_counter>0</replay_counter></pci>
  <clocks_event_reasons>
    <clocks_event_reason_hw_slowdown>Not Active</clocks_event_reason_hw_slowdown>
  </clocks_event_reasons>
  <fb_memory_usage><total>81559 MiB</total><reserved>550 MiB</reserved><used>69119 MiB</used>
    <free>11889 MiB</free></fb_memory_usage>
  <utilization><gpu_util>98 %</gpu_util><memory_util>41 %</memory_util></utilization>
  <ecc_errors><volatile><sram_correctable>0</sram_correctable>
    <sram_uncorrectable_parity>0</sram_uncorrectable_parity>
    <sram_uncorrectable_secded>0</sram_uncorrectable_secded>
    <dram_correctable>0</dram_correctable><dram_uncorrectable>N/A</dram_uncorrectable>
  </volatile></ecc_errors>
  <remapped_rows><remapped_row_corr>0</remapped_row_corr>
    <remapped_row_pending>No</remapped_row_pending></remapped_rows>
  <temperature><gpu_temp>57 C</gpu_temp><memory_temp>66 C</memory_temp></temperature>
  <gpu_power_readings><average_power_draw>611.93 W</average_power_draw>
    <current_power_limit>700.00 W</current_power_limit></gpu_power_readings>
  <clocks><sm_clock>1755 MHz</sm_clock><mem_clock>2619 MHz</mem_clock></clocks>
</gpu></nvidia_smi_log>
"""


def test_the_agent_agrees_with_nvidia_smi_and_without_cuda_nothing_else_is_measured(
    tmp_path, program
):
    program("gcc")
    fake = tmp_path / "bin" / "nvidia-smi"
    fake.parent.mkdir()
    fake.write_text(f"#!/bin/sh\ncat <<'END'\n{SMI}END\n")
    fake.chmod(0o755)
    node = [sys.executable, "-m", "rankscope.lab.node", "--gpus", "1", "--", "bash"]
    done = subprocess.run(
        [*node, "bench/device.sh", str(tmp_path / "out"), "--settle", "5"],
        cwd=ROOT,
        env={
            **os.environ,
            "PATH": f"{fake.parent}:{os.environ['PATH']}",
            "PYTHON": sys.executable,
            "CUDA_VISIBLE_DEVICES": "",
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    first, *others = summary["steps"]
    assert ("right", 0) == (first["verdict"], done.returncode), done.stdout
    verdicts = {row["name"]: row["verdict"] for row in first["details"]["values"]}
    same = ("memory used", "power", "SM clock", "PCIe width", "uncorrected errors, SRAM")
    assert dict.fromkeys(same, "equal") == {name: verdicts[name] for name in same}
    assert ("not read", "only ours") == (verdicts["MIG"], verdicts["uncorrected errors, HBM"])
    assert [NONE] * 4 == [row["text"] for row in others]
    assert 4 == sum(line.endswith(NONE) for line in done.stdout.splitlines())
    captured = "".join(path.read_text() for path in (tmp_path / "out").iterdir())
    for name in (gpu_uuid(0), "1652923000000", ":1B:00.0"):
        assert name not in captured


def test_a_value_that_is_not_nvidia_smis_and_a_name_that_is_not_on_the_page_are_found():
    (device,) = readings.devices(SMI)
    page = f"""
hw_temperature_celsius{{hw_id="{gpu_uuid(0)}",hw_sensor="gpu"}} 91
DCGM_FI_DEV_GPU_TEMP{{UUID="{gpu_uuid(0)}"}} 91
hw_power_limit_watts{{hw_id="GPU-of-another"}} 700
""".encode()
    rows = {row["name"]: row for row in readings.compared(page, device, device)}
    assert "DIFFERENT" == rows["temperature"]["verdict"]
    assert ["DCGM_FI_DEV_GPU_TEMP_CELSIUS"] == rows["temperature"]["dcgm"]
    assert "only nvidia-smi" == rows["power limit"]["verdict"]
    assert "neither" == rows["encoder utilisation"]["verdict"]


OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 79.11 GiB. GPU 0 has a total"
    " capacity of 79.11 GiB of which 76.30 GiB is free. Process 4711 has 2.80 GiB memory in use."
    " Of the allocated memory 1.20 GiB is allocated by PyTorch, and 0 bytes is reserved by PyTorch"
    " but unallocated."
)


@pytest.mark.parametrize(("last", "right"), [(OOM, True), ("ZeroDivisionError: by zero", False)])
def test_a_log_is_right_only_where_it_is_explained_by_the_devices_memory(tmp_path, last, right):
    text = f'Traceback (most recent call last):\n  File "train.py", line 7, in <module>\n{last}\n'
    (tmp_path / "rank_0.log").write_text(f"step 0 loss 1.5\n{text}")
    assert right == steps.explained(tmp_path, 60.0).right


def test_a_communicator_that_is_not_read_and_a_fault_in_a_healthy_log_are_found():
    info = "node-7:4711:4780 [0] NCCL INFO "
    done = "comm 0x55d0c1a0 rank 0 nranks 1 cudaDev 0 nvmlDev 0 busId 1b000 commId 0x9a"
    healthy = f"{info}NET/IB : No device found.\n{info}{done} - Init COMPLETE\n"
    assert (1, []) == steps.nccl_lines(healthy)
    assert (1, ["0 of 1 communicators are read"]) == steps.nccl_lines(f"{info}Init COMPLETE")
    (fault,) = steps.nccl_lines(healthy + OOM)[1]
    assert fault.startswith("a healthy job's line is read as a fault: torch.OutOfMemoryError")


def test_captures_name_no_machine_and_the_same_thing_by_the_same_word(tmp_path):
    captures = CaptureFolder(tmp_path, ["gpu-box-7.example.org"])
    captures.write(
        "one.log",
        "gpu-box-7:11:12 [0] NCCL INFO comm 0x5 busId 1b000 10.1.2.3<0> 0000:1b:00.0"
        " gpu-box-7.example.org 00000000:1B:00.0 127.0.0.1 driver 570.133.20\n",
    )
    assert (
        "host-1:11:12 [0] NCCL INFO comm 0x5 busId 1000 192.0.2.1<0> 0000:01:00.0"
        " host-1 0000:01:00.0 127.0.0.1 driver 570.133.20\n"
    ) == (tmp_path / "one.log").read_text()
