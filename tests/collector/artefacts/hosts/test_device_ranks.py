"""Kernel logs that name no host, and devices whose rank only the rank's own error tells."""

from datetime import UTC

import pytest

ECC = "RuntimeError: CUDA error: uncorrectable ECC error encountered"
UNKNOWN = "RuntimeError: CUDA error: unknown error"
RAISED = (
    '[rank{0}]: Traceback (most recent call last):\n[rank{0}]:   File "/w/train.py", line 8, in '
    "<module>\n[rank{0}]:     loss.backward()\n[rank{0}]: {1}\n"
)
XID = "[430954.5{1}] NVRM: Xid (PCI:0000:{0}:00): {1}, pid='<unknown>', name=<unknown>, {2}\n"
MEMORY = "An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer."
HUNG = (
    "[ 1000.1] INFO: task python:4242 blocked for more than 120 seconds.\n[ 1000.1] Call Trace:\n"
    "[ 1000.1]  schedule+0x33/0x110\n[ 1000.1]  {}\n"
)


def first(explain, folder, **files):
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)
    found = explain(folder, zone=UTC).document()["root_cause"]["hypotheses"][0]
    return found["fault"], found["entity"]["id"], found["entity"]["ranks"]


def test_the_one_rank_with_an_ecc_error_had_the_one_device_with_one(explain, tmp_path):
    found = first(explain, tmp_path, job_log=RAISED.format(2, ECC) + RAISED.format(5, UNKNOWN),
                  dmesg_txt=XID.format("9c", 48, MEMORY))  # fmt: skip
    assert ("gpu.memory_uncorrectable", "pci:0000:9c:00.0", [2]) == found


def test_a_rank_whose_device_is_not_reached_had_the_one_that_is_lost(explain, tmp_path):
    lost = XID.format("9c", 79, "GPU has fallen off the bus.")
    found = first(explain, tmp_path, job_log=RAISED.format(3, UNKNOWN), dmesg_txt=lost)
    assert ("gpu.lost", "pci:0000:9c:00.0", [3]) == found


def test_two_devices_are_given_to_nobody(explain, tmp_path):
    both = XID.format("9c", 48, MEMORY) + XID.format("1b", 48, MEMORY)
    _, device, ranks = first(explain, tmp_path, job_log=RAISED.format(2, ECC), dmesg_txt=both)
    assert device == "device-of-rank-2" or not ranks


def test_an_index_out_of_range_is_no_word_of_a_device(explain, tmp_path):
    wrong = "RuntimeError: CUDA error: device-side assert triggered"
    _, _, ranks = first(explain, tmp_path, job_log=RAISED.format(2, wrong),
                        dmesg_txt=XID.format("9c", 48, MEMORY))  # fmt: skip
    assert [] == ranks


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (HUNG.format("uvm_ioctl+0x1/0x9 [nvidia_uvm]"), "host.driver_hang"),
        (HUNG.format("ptlrpc_set_wait+0x7/0x9 [ptlrpc]"), "host.storage_slow"),
        ("[ 9.1] rcu: INFO: rcu_sched self-detected stall on CPU\n", "host.driver_hang"),
        ("[ 9.1] Kernel panic - not syncing: Fatal machine check\n", "host.lost"),
        ("[ 9.1] reboot: HARDWARE PROTECTION shutdown (Temperature too high)\n", "host.lost"),
        ("[ 9.1] nfs: server filer1 not responding, still trying\n", "host.storage_slow"),
        ("[ 9.1] mlx5_core 0000:3b:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=x\n",
         "network.nic_down"),
        ("[ 9.1] nvidia 0000:3b:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=x\n",
         "gpu.lost"),
        ("[ 9.1] nvidia 0000:3b:00.0: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=x\n",
         "gpu.pcie_degraded"),
        ("[ 9.1] mce: [Hardware Error]: CPU 12: Machine Check Exception: 5 Bank 7\n", "unknown"),
        ("[ 9.1] NVRM: Xid (PCI:0000:3b:00): 31, pid=4411, name=a, MMU Fault: ENGINE GRAPHICS\n",
         "software.crash"),
    ],
)  # fmt: skip
def test_a_kernel_log_that_names_no_host_is_of_one_all_the_same(explain, tmp_path, text, fault):
    assert fault == first(explain, tmp_path, dmesg_txt=text)[0]


def test_a_machine_check_of_what_was_corrected_is_quiet(explain, tmp_path):
    text = (
        "[ 9.1] mce: [Hardware Error]: Machine check events logged\n"
        "[ 9.1] EDAC MC0: 1 CE memory read error on CPU_SrcID#0_MC#1_Chan#0_DIMM#0\n"
    )
    (tmp_path / "dmesg.txt").write_text(text)
    assert None is explain(tmp_path, zone=UTC).document()


@pytest.mark.parametrize(
    "words", ["GPU 0000:C1:00.0: GPU is lost.", "GPU3: 0000:C1:00.0: Unknown Error"]
)
def test_what_a_tool_is_called_is_no_host(explain, tmp_path, words):
    text = f"Unable to determine the device handle for {words}\n"
    (tmp_path / "nvidia-smi.txt").write_text(text)
    found = explain(tmp_path, zone=UTC).document()["root_cause"]["hypotheses"][0]
    assert ("gpu.lost", "unnamed-host") == (found["fault"], found["entity"]["host"])
