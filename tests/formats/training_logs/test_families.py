"""What a line says by families of words, whatever its wording."""

import pytest

from rankscope.formats.training_logs import families, signatures
from rankscope.formats.training_logs.launchers import forms


def family(*lines, place=-1):
    found = families.read(list(lines), place % len(lines))
    return "" if found is None else found.name


@pytest.mark.parametrize("one", families.catalogue(), ids=lambda one: one.name)
def test_each_family_has_an_example_that_no_family_before_it_takes(one):
    assert one.name == family(one.example)


@pytest.mark.parametrize("one", families.catalogue(), ids=lambda one: one.name)
def test_what_a_family_stands_for_is_a_line_that_is_known(one):
    known = {"log.start_refused", "storage.io_error", *(o.name for o in signatures.catalogue())}
    launched = {form.name for form in forms.catalogue()}
    assert one.signature in known or one.launcher in launched
    assert bool(one.signature) != bool(one.launcher)


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("lattice::Pool: no more memory on device 2 (wanted 6 GiB)", "device memory"),
        ("TileError: HPU ran out of memory while it compiled the graph", "device memory"),
        ("cudnn workspace: alloc failed", "device memory"),
        ("显存不足: 2.5 GiB", "device memory"),
        ("std::bad_alloc in reader thread", "host memory"),
        ("OSError: [Errno 12] fork of loader 3", "host memory"),
        ("arena.cc:12 FATAL: cannot allocate 12884901888 bytes", "memory"),
        ("queue: no space in shared memory for another batch", "no room in shared memory"),
        ("writer: errno 122 while it wrote step_400.bin", "full disk"),
        ("snapshot: disk /scratch is full", "full disk"),
        ("saver: EROFS on /ckpt", "read-only disk"),
        ("reader: ESTALE for shard-00012.tar", "file system"),
        ("sync_tree: rank 2 has 101 buckets, length does not match", "collective"),
        ("Stopping: cost is not finite", "no number"),
        ("aborting run, NaN gradients in block 7", "no number"),
        ("Loss blew up to 9e20, giving up", "explosion"),
        ("ERROR loader: CUDA toolkit 12.6 requires driver 550, incompatible with 470", "driver"),
        ("ERROR mlu:3 does not respond: hardware failure", "lost device"),
        ("controller: worker pod was preempted", "taken away"),
        ("unable to reach coordinator 10.0.0.1:6123", "unreached peer"),
        ("getaddrinfo: name or service not known for host trainer-0", "unreached peer"),
        ("channel to peer 4 was closed", "network"),
        ("worker 3 exited unexpectedly", "native end"),
        ("SIGILL in kernel fma_512", "native end"),
        ("Error: operator scan is not there on this backend", "start"),
    ],
)
def test_other_wordings_are_of_the_same_families(line, name):
    assert name == family(line)


def test_which_memory_it_was_may_stand_on_a_line_beside_it():
    assert "device memory" == family("Failed to allocate again.", "  MulCuda", place=0)
    assert "memory" == family("Failed to allocate again.", "  Mul", place=0)


@pytest.mark.parametrize(
    "line",
    [
        "WARNING: not enough memory for the fast path on GPU 0, falling back",
        "if the GPU runs out of memory, lower the batch size",
        "0 errors, 3 workers connected",
        "Potential root causes: (1) killed by the OOM killer due to high memory usage",
        "common causes: CUDA out of memory, a node that was lost",
        "ignoring error of the metrics server",
        "DeprecationWarning: reset of connections is deprecated",
        "step 10 loss 2.25 grad_norm 0.5",
        "allocating 12 GiB on device 0",
        "connecting to master 10.0.0.1:29500",
        "tracker: Network error resolved after 0:00:41.2, resuming normal operation.",
        "connection to the coordinator was lost, reconnected after 3 attempts",
        "loss: nan",
        "word error rate 12.5",
    ],
)
def test_what_fails_nothing_is_of_none(line):
    assert "" == family(line)


def test_a_warning_of_a_library_is_no_failure():
    line = "/lib/grad_scaler.py:342: FutureWarning: `found_inf` of the gradients is an error soon"
    assert "" == family(line)
    assert "" != family(line.replace("FutureWarning: ", ""))
