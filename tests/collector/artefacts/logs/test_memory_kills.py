"""Kills that a shell or a launcher and a kernel saw: for memory, on the kernel's host."""

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


@pytest.mark.parametrize(
    "said",
    [
        (
            "torch.multiprocessing.spawn.ProcessExitedException: process 1 terminated with signal "
            "SIGKILL\n"
        ),
        (
            "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: -9) "
            "local_rank: 1 (pid: 202) of binary: /usr/bin/python3\n"
        ),
        (
            "mpirun noticed that process rank 1 with PID 202 on node lab-1 exited on signal 9 "
            "(Killed).\n"
        ),
        (
            "subprocess.CalledProcessError: Command '['python', 'train.py']' died with "
            "<Signals.SIGKILL: 9>.\n"
        ),
    ],
)
@pytest.mark.parametrize("before", ["", KERNEL.replace("29918 (python)", "411 (java)")])
def test_a_launcher_of_a_container_numbers_what_the_kernel_killed_otherwise(
    explain, tmp_path, said, before
):
    (tmp_path / "train.log").write_text("loading the model\n" + said)
    (tmp_path / "syslog.txt").write_text(before + KERNEL)
    document = explain(tmp_path, zone=UTC).document()
    assert document is not None
    cause = document["root_cause"]["hypotheses"][0]
    assert (cause["fault"], cause["entity"]["host"]) == ("memory.host_oom", "lab-1")


def test_a_kill_an_hour_before_a_dated_end_is_of_another_process(explain, tmp_path):
    (tmp_path / "train.log").write_text(
        "[2026-04-25 07:31:56,120] [ERROR] [launch.py:325:sigkill_handler] ['python', 'train.py', "
        "'--local_rank=1'] exits with return code = -9\n"
    )
    (tmp_path / "syslog.txt").write_text(KERNEL)
    document = explain(tmp_path, zone=UTC).document()
    assert document is not None
    assert document["root_cause"]["hypotheses"][0]["fault"] == "software.crash"


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
