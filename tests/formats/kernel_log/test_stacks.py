"""Tasks that do not come back from the kernel: which frame says for what they wait."""

import pytest

HUNG = "INFO: task python:4242 blocked for more than 120 seconds."
OURS = ("__schedule+0x27c/0x6b0", "schedule+0x33/0x110", "mutex_lock+0x34/0x40")


def waits(reports):
    return [(one.signature, one.role, one.pid) for one in reports if one.signature != "task.hung"]


@pytest.mark.parametrize(
    ("frames", "signature"),
    [
        (["uvm_ioctl+0x13e0/0x16f0 [nvidia_uvm]"], "driver.hung"),
        (["os_acquire_semaphore+0x4b/0x60 [nvidia]"], "driver.hung"),
        (["amdgpu_vm_fini+0x1/0x5 [amdgpu]"], "driver.hung"),
        (["cmd_exec+0x1/0x5 [mlx5_core]"], "driver.hung"),
        (["uverbs_destroy_ufile_hw+0x3/0x9 [ib_uverbs]"], "driver.hung"),
        (["rpc_wait_bit_killable+0x11/0xb0 [sunrpc]", "nfs4_do_open+0x1/0x5 [nfsv4]"],
         "nfs.task_hung"),
        (["io_schedule+0x46/0x80", "nfs_wait_on_request+0x42/0x50 [nfs]"], "nfs.task_hung"),
        (["ptlrpc_set_wait+0x76/0x5f0 [ptlrpc]"], "lustre.task_hung"),
        (["request_wait_answer+0x1/0x9 [fuse]"], "storage.task_hung"),
        (["jbd2_log_wait_commit+0xf0/0x170"], "storage.task_hung"),
        (["io_schedule+0x46/0x80", "filemap_fault+0x5/0x9"], "storage.task_hung"),
        # The innermost decides: a driver pins pages that storage does not give.
        (["nfs_readpage+0x1/0x9 [nfs]", "nvidia_ioctl+0x1/0x9 [nvidia]"], "nfs.task_hung"),
        # A frame that the kernel is not sure of says nothing.
        (["? nfs_readpage+0x1/0x9 [nfs]", "nvidia_ioctl+0x1/0x9 [nvidia]"], "driver.hung"),
        (["[<ffffffffc05d1e93>] nvidia_ioctl+0x1/0x9 [nvidia]"], "driver.hung"),
    ],
)  # fmt: skip
def test_the_first_frame_that_is_known_says_what_a_task_waits_for(read, frames, signature):
    found = read(HUNG, *(f" {frame}" for frame in (*OURS, *frames)))
    assert "task.hung" == found[0].signature
    assert [(signature, "root", 4242)] == waits(found)


def test_a_stack_that_was_asked_for_tells_as_much(read):
    head = "task:python  state:D stack:0     pid:4242  tgid:4242  ppid:1      flags:0x00004006"
    assert [("driver.hung", "root", 4242)] == waits(read(head, " uvm_ioctl+0x1/0x6 [nvidia_uvm]"))


def test_frames_that_are_of_no_known_part_leave_it_open(read):
    assert [] == waits(read(HUNG, *(f" {frame}" for frame in (*OURS, "do_exit+0x1/0x9"))))


def test_a_stack_without_a_task_that_hangs_above_it_tells_nothing(read):
    assert [] == read(" uvm_ioctl+0x13e0/0x16f0 [nvidia_uvm]", "Modules linked in: nfs nvidia")


def test_a_trace_long_after_a_task_hung_is_another_s(read):
    assert [] == waits(read(HUNG, " uvm_ioctl+0x13e0/0x16f0 [nvidia_uvm]", apart=60.0))
