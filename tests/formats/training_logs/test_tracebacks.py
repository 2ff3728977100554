"""Exceptions that end a process: the last line of a traceback, whoever writes between its lines."""

import pytest

from rankscope.formats import training_logs

FRAME = '  File "/w/train.py", line 88, in collate\n'


def reported(text):
    return [
        (event.attributes.get("rank"), event.attributes["role"], event.attributes["text"])
        for line in training_logs.read(text.splitlines(keepends=True))
        for event in line.events
        if event.name == "log.fault"
    ]


def traceback(error, *, begins="Traceback (most recent call last):", source="    x = row[key]\n"):
    return f"{begins}\n{FRAME}{source}{error}\n"


@pytest.mark.parametrize(
    "error",
    [
        "KeyError: 'input_ids'", "ValueError", "torch.cuda.AcceleratorError: no device",
        "queue.Empty", "omegaconf.errors.ConfigKeyError: Key 'lr' is not in struct",
        "AssertionError: ", "requests.exceptions.ReadTimeout: HTTPSConnectionPool(host='hub')",
        "ConnectionRefusedError: [Errno 111] Connection refused",
    ],
)  # fmt: skip
def test_the_last_line_of_a_traceback_is_an_error_of_the_process(error):
    assert [(None, "root", error.strip())] == reported(traceback(error))


@pytest.mark.parametrize(
    "source",
    ["", "    x = row[key]\n        ~~~^^^^^\n", "    Model\n", "    raise KeyError(key)\n"],
    ids=["none", "with marks", "a name alone", "that raises"],
)
def test_lines_of_the_program_are_no_errors(source):
    assert [(None, "root", "KeyError: 1")] == reported(traceback("KeyError: 1", source=source))


def test_tracebacks_of_ranks_that_write_between_each_other_are_told_apart():
    first, second = (
        [f"[rank{rank}]: {line}\n" for line in traceback(error).splitlines()]
        for rank, error in ((3, "KeyError: 1"), (1, "OSError: 2"))
    )
    mixed = "".join(line for pair in zip(first, second, strict=True) for line in pair)
    assert [(3, "root", "KeyError: 1"), (1, "root", "OSError: 2")] == reported(mixed)


@pytest.mark.parametrize("form", ["[{}] ", "rank{} | ", "worker-{}| ", "<{}>"])
def test_what_stands_before_each_line_of_a_traceback_is_none_of_it(form):
    first, second = (
        [form.format(rank) + line + "\n" for line in traceback(error).splitlines()]
        for rank, error in ((3, "KeyError: 1"), (1, "OSError: 2"))
    )
    mixed = "".join(line for pair in zip(first, second, strict=True) for line in pair)
    assert [(None, "root", "KeyError: 1"), (None, "root", "OSError: 2")] == reported(mixed)


@pytest.mark.parametrize("before", ["10:02:11 ", "trainer: "])
def test_the_first_line_of_a_traceback_alone_may_have_something_before_it(before):
    text = before + traceback("ValueError: bad sample", source="    raise KeyError(key)\n")
    assert [(None, "root", "ValueError: bad sample")] == reported(text)


@pytest.mark.parametrize(
    "error",
    [
        "torch.distributed.DistNetworkError: failed to recv, got 0 bytes",
        "RuntimeError: NCCL error in: ProcessGroupNCCL.cpp:3690, remote end gone",
        "ConnectionResetError: [Errno 104]", "ray.exceptions.RayTaskError(ValueError): x",
        "torch.multiprocessing.spawn.ProcessExitedException: process 1 terminated",
    ],
)  # fmt: skip
def test_what_follows_from_another_process_is_no_root(error):
    assert "root" not in [role for _, role, _ in reported(traceback(error))]


@pytest.mark.parametrize("error", ["KeyboardInterrupt", "SystemExit: 1"])
def test_who_was_asked_to_end_reports_nothing(error):
    assert [] == reported(traceback(error))


@pytest.mark.parametrize(
    "text",
    ["KeyError: 'input_ids'\n", "Error: nothing\n", "epoch done\n" + FRAME + "ValueError\n"],
)
def test_without_a_traceback_a_line_is_no_exception(text):
    assert [] == reported(text)


def test_a_line_with_a_signature_of_its_own_keeps_it():
    error = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"
    (line,) = training_logs.read(traceback(error).splitlines(keepends=True))
    assert "gpu.out_of_memory" == line.events[0].attributes["signature"]


def test_what_follows_an_exception_belongs_to_no_traceback():
    assert [(None, "root", "KeyError: 1")] == reported(traceback("KeyError: 1") + "Warning: x\n")


def test_what_a_finaliser_raises_ends_nothing():
    frame = '  File "/w/dataloader.py", line 9, in __del__\n    self._stop()\n'
    text = f"Traceback (most recent call last):\n{frame}{FRAME}    x\nAssertionError: no child\n"
    assert [] == reported(text)
    assert [(None, "root", "KeyError: 1")] == reported(text + traceback("KeyError: 1"))


@pytest.mark.parametrize("error", ["BrokenPipeError: [Errno 32] Broken pipe", "EOFError"])
def test_a_helper_process_that_finds_its_parent_gone_is_no_cause(error):
    pipe = traceback(error).replace("/w/train.py", "/usr/lib/python3.11/multiprocessing/queues.py")
    assert [(None, "confirmation", error)] == reported(pipe)
    assert "root" not in [role for _, role, _ in reported(traceback(error))]


def test_a_file_that_ends_too_early_is_an_error_of_the_process():
    error = "EOFError: Ran out of input"
    assert [(None, "root", error)] == reported(traceback(error))


@pytest.mark.parametrize("between", ["", "\n", "[rank1]: step 3\n"])
def test_a_message_that_begins_below_its_kind_is_read_with_it(between):
    text = traceback("ImportError: ") + between + "No codec for zst.\nInstall one.\n"
    assert [(None, "root", "ImportError: No codec for zst.")] == reported(text)


def test_a_message_below_its_kind_may_say_what_a_table_knows():
    text = (
        traceback("AssertionError: ") + "The NVIDIA driver on your system is too old (found 1).\n"
    )
    (signature,) = [
        event.attributes["signature"]
        for line in training_logs.read(text.splitlines(keepends=True))
        for event in line.events
    ]
    assert "driver.too_old" == signature
