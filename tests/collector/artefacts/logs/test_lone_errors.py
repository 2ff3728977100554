"""One log, no launcher, no rank: what an error at its end says of the job, one in its middle."""

import pytest
from tests.collector.artefacts.test_always_an_answer import said

FRAMES = (
    'Traceback (most recent call last):\n  File "/opt/train.py", line 88, in <module>\n    go()\n'
)
CRASH = ("software.crash", "job", "job")
START = ("software.init_failed", "job", "job")


def steps(first, last):
    return "".join(f"step {n} loss {3 - n / 100:.3f} grad_norm 0.5\n" for n in range(first, last))


def bars(first, last):
    return "".join(
        f"Epoch 1: |##| {n}/99 [00:{n:02d}<01:00, 1.2it/s]\n" for n in range(first, last)
    )


@pytest.mark.parametrize(
    "line",
    [
        "KeyError: 'shape'",
        "RuntimeError: PytorchStreamReader failed reading zip archive: not a ZIP archive",
        "safetensors_rust.SafetensorError: Error while deserializing header: HeaderTooSmall",
        "RuntimeError: Error(s) in loading state_dict for Net:",
        "RuntimeError: PytorchStreamWriter failed writing file data/1: file write failed",
        "pyo3_runtime.PanicException: index out of bounds",
        "ValueError: Default process group has not been initialized, please make sure to",
    ],
)
@pytest.mark.parametrize("before", ["loading\n", steps(1, 9)])
def test_a_traceback_that_ends_a_log_is_the_crash_of_the_job_and_quoted(
    explain, tmp_path, before, line
):
    (tmp_path / "job.log").write_text(before + FRAMES + line + "\n\nsee the manual\n")
    diagnosis = explain(tmp_path)
    assert CRASH == said(diagnosis)
    quote = diagnosis.document()["leftovers"]["lines"][0]
    assert (line, "root") == (quote["text"], quote["role"])


def test_an_exception_of_native_code_is_a_crash_as_well(explain, tmp_path):
    text = "terminate called after throwing an instance of 'std::out_of_range'\n  what():  vector\n"
    (tmp_path / "job.log").write_text(steps(1, 9) + text)
    assert CRASH == said(explain(tmp_path))


@pytest.mark.parametrize("of_steps", [steps, bars])
def test_a_traceback_below_which_training_goes_on_is_quiet(explain, tmp_path, of_steps):
    (tmp_path / "job.log").write_text(of_steps(1, 9) + FRAMES + "ValueError: x\n" + of_steps(9, 20))
    assert explain(tmp_path).document() is None


def test_one_more_line_of_another_rank_below_it_does_not_save_the_job(explain, tmp_path):
    (tmp_path / "job.log").write_text(steps(1, 9) + FRAMES + "ValueError: x\n" + steps(9, 11))
    assert CRASH == said(explain(tmp_path))


def test_an_exception_below_a_wait_for_another_rank_follows_from_it(explain, tmp_path):
    wait = "EI0002: The wait execution of the Notify register times out. Reason: x\n"
    (tmp_path / "job.log").write_text(steps(1, 9) + wait + FRAMES + "RuntimeError: error 107020\n")
    assert ("unknown", "job", "job") == said(explain(tmp_path))


@pytest.mark.parametrize("above", ["Exception ignored in: <function a>", "--- Logging error ---"])
def test_a_traceback_that_python_only_prints_is_quiet(explain, tmp_path, above):
    (tmp_path / "job.log").write_text(steps(1, 9) + above + "\n" + FRAMES + "ValueError: x\n")
    assert explain(tmp_path).document() is None


@pytest.mark.parametrize(
    "line",
    [
        "OSError: [Errno 122] Disk quota exceeded: '/ckpt/7'",
        "OSError: [Errno 30] Read-only file system: '/ckpt/7'",
        "SafetensorError: Error while serializing: IoError(Os { code: 28, kind: StorageFull })",
    ],
)
@pytest.mark.parametrize("prefix", ["", "[rank3]: "])
def test_a_write_that_found_no_room_is_a_full_disk_though_no_line_names_a_host(
    explain, tmp_path, line, prefix
):
    text = "".join(prefix + one + "\n" for one in (FRAMES + line).splitlines())
    (tmp_path / "job.log").write_text(steps(1, 9) + text)
    assert ("host.disk_full", "host", "unnamed-host") == said(explain(tmp_path))


def test_a_full_disk_that_the_job_survived_is_quiet(explain, tmp_path):
    text = steps(1, 9) + "wandb: [Errno 28] No space left on device\n" + steps(9, 20)
    (tmp_path / "job.log").write_text(text)
    assert explain(tmp_path).document() is None


def test_a_read_that_failed_is_its_storage(explain, tmp_path):
    text = steps(1, 9) + FRAMES + "OSError: [Errno 5] Input/output error: '/data/7'\n"
    (tmp_path / "job.log").write_text(text)
    assert "host.storage_slow" == said(explain(tmp_path))[0]


@pytest.mark.parametrize(
    "line",
    [
        "[setup] Failed to initialize NVML: Driver/library version mismatch",
        "pynvml.NVMLError_LibRmVersionMismatch: RM has detected an NVML/RM version mismatch.",
    ],
)
def test_a_driver_of_two_versions_is_its_hosts(explain, tmp_path, line):
    (tmp_path / "job.log").write_text("starting\n" + line + "\n")
    diagnosis = explain(tmp_path)
    assert ("host.config_drift", "host", "unnamed-host") == said(diagnosis)
    assert "warning" == diagnosis.document()["severity"]


@pytest.mark.parametrize(
    "line",
    [
        "RuntimeError: No CUDA GPUs are available",
        "RuntimeError: The NVIDIA driver on your system is too old (found version 11040).",
        "python: error while loading shared libraries: libcudart.so.12: cannot open",
        "ImportError: /opt/flash.so: undefined symbol: _ZN3c105Error",
    ],
)
def test_no_device_driver_or_library_to_start_with_is_a_start_that_failed(explain, tmp_path, line):
    (tmp_path / "job.log").write_text("starting\n" + FRAMES + line + "\n")
    assert START == said(explain(tmp_path))


SEGFAULT = (
    "[Wed May 13 12:00:{:02} 2026] python3.11[{}]: segfault at 60 ip 00007f24 sp 00007ffc error 4 "
    "in {}[7f24b8cc8000+5c000]\n"
)
UNCAUGHT = (
    "Application terminated with error: ??+0 (0x7FAB12624EEF)\nclone+63 (0x7FAB5833371F)\n\n"
    "(TBoostException) lib/cuda_base.h:63: CUDA error {}\n"
)


@pytest.mark.parametrize("text", [
    UNCAUGHT.format("719: unspecified launch failure"),
    UNCAUGHT.format("9: invalid configuration argument"),
])  # fmt: skip
def test_what_a_program_without_python_prints_of_its_end_is_a_crash(explain, tmp_path, text):
    (tmp_path / "job.log").write_text("600:\tlearn: 7.6\ttotal: 2m 36s\n" + text)
    assert CRASH == said(explain(tmp_path))


def test_memory_that_its_device_refused_is_that_all_the_same(explain, tmp_path):
    (tmp_path / "job.log").write_text(UNCAUGHT.format("2: out of memory"))
    assert "memory.gpu_oom" == said(explain(tmp_path))[0]


def test_a_kernel_log_of_segmentation_faults_in_the_trainings_library_is_a_crash(explain, tmp_path):
    text = "".join(SEGFAULT.format(n, 4700 + n, "libtorch_cuda.so") for n in range(3))
    (tmp_path / "dmesg.txt").write_text(text)
    assert "software.crash" == said(explain(tmp_path))[0]


def test_one_of_another_program_tells_nothing(explain, tmp_path):
    (tmp_path / "dmesg.txt").write_text(SEGFAULT.format(1, 4700, "libxul.so"))
    (tmp_path / "job.log").write_text(steps(1, 9))
    assert explain(tmp_path).document() is None


def test_a_component_that_gives_no_sign_of_life_is_told_and_no_cause_is_named(explain, tmp_path):
    silent = "No heartbeat for components: RolloutWorker_w3 (412 seconds)\n"
    (tmp_path / "job.log").write_text("starting\n" + silent)
    assert "unknown" == said(explain(tmp_path))[0]
    (tmp_path / "job.log").write_text(steps(1, 9) + silent + steps(9, 20))
    assert explain(tmp_path).document() is None


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("HW Exception by GPU node-3 (Agent handle: 0x55d0) reason :GPU Hang", "gpu.firmware_hang"),
        ("Failed to initialize NVML: Unknown Error", "gpu.lost"),
        ("No devices were found", "gpu.lost"),
    ],
)
def test_a_device_that_hung_or_is_gone_is_no_crash_of_the_program(explain, tmp_path, line, fault):
    (tmp_path / "job.log").write_text(steps(1, 9) + line + "\n")
    assert fault == said(explain(tmp_path))[0]


def test_a_device_that_was_not_seen_for_a_moment_is_quiet(explain, tmp_path):
    line = "Failed to initialize NVML: Unknown Error\n"
    (tmp_path / "job.log").write_text(steps(1, 9) + line + steps(9, 20))
    assert explain(tmp_path).document() is None
