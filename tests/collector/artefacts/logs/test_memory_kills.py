"""Kills that a shell and a kernel saw: for memory, on the kernel's host."""

from datetime import UTC

import pytest

KERNEL = (
    "Apr 25 06:31:56 lab-1 kernel: [594646.252861] Killed process 29918 (python) "
    "total-vm:232708084kB, anon-rss:31121884kB, file-rss:6572kB, shmem-rss:0kB\n"
)


@pytest.mark.parametrize(
    "said", ["run.sh: line 44: 29918 Killed                  python train.py\n", "Killed\n"]
)
def test_what_the_kernel_killed_for_memory_is_no_crash_of_its_own(explain, tmp_path, said):
    (tmp_path / "train.log").write_text("loading the model\n" + said)
    (tmp_path / "syslog.txt").write_text(KERNEL)
    document = explain(tmp_path, zone=UTC).document()
    assert document is not None
    cause = document["root_cause"]["hypotheses"][0]
    assert (cause["fault"], cause["entity"]["host"]) == ("memory.host_oom", "lab-1")


def test_a_kill_that_no_kernel_explains_stays_a_crash(explain, tmp_path):
    (tmp_path / "train.log").write_text("loading the model\nKilled\n")
    document = explain(tmp_path, zone=UTC).document()
    assert document is not None
    assert document["root_cause"]["hypotheses"][0]["fault"] == "software.crash"


def test_a_lone_kernel_log_names_the_host_of_devices_that_no_line_places(explain, tmp_path):
    (tmp_path / "kern.log").write_text(
        "Aug 26 15:28:16 lab-1 kernel: [87474.8] NVRM: Xid (PCI:0000:17:00): 79, pid=0, GPU has "
        "fallen off the bus.\n"
    )
    (tmp_path / "nvidia-smi.txt").write_text(
        "Unable to determine the device handle for GPU 0000:17:00.0: GPU is lost.  Reboot the "
        "system to recover this GPU\n"
    )
    document = explain(tmp_path, zone=UTC).document()
    assert document is not None
    assert document["root_cause"]["hypotheses"][0]["entity"]["host"] == "lab-1"
