"""Which ranks and hosts a launcher's lines are about."""

import pytest
from tests.collector.artefacts.launches.launched_job import CRASH, OTHERS, TABLE, cause, steps


def test_the_host_of_a_task_is_that_of_its_rank(first):
    assert (CRASH, [1], "n1") == cause(
        first(steps(4) + "srun: error: n1: task 1: Killed\n" + OTHERS)
    )


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("OSError: [Errno 28] No space left on device", "host.disk_full"),
        ("torch.AcceleratorError: CUDA error: uncorrectable ECC error encountered",
         "gpu.memory_uncorrectable"),
    ],
)  # fmt: skip
def test_a_fault_of_the_host_or_device_is_at_the_host_of_torchrun_s_table(first, line, fault):
    document = first(steps(1) + f"[rank3]: {line}\n" + TABLE.format(3, 1))
    assert (fault, [3], "gpu-2") == cause(document)


def test_a_task_that_starts_a_node_is_no_rank(first):
    ends = "srun: error: gpu-2: task 1: Exited with exit code 1\n"
    document = first(steps(1) + TABLE.format(11, 1) + ends)
    assert (CRASH, [11], "gpu-2") == cause(document)


def test_a_shell_s_prompt_behind_its_word_names_the_host(first):
    document = first(steps(1) + "Killed\n(venv) ada@gpu-7:~/runs $ \n")
    assert (CRASH, [0], "gpu-7") == cause(document)


def test_a_prompt_before_the_job_is_that_of_whatever_host_it_was_sent_from(first):
    document = first("[ada@login1 ~]$ srun train.sh\n" + steps(1) + "Killed\n")
    assert (CRASH, [0], None) == cause(document)
