"""Dumps of stacks: whoever wrote them, one process and its threads, the innermost call first."""

import pytest
from tests.formats.stacks import dumps

from rankscope.formats.stacks import places, reading


def read(text):
    return reading.processes(text.encode().split(b"\n"))


def stands(text):
    """Return where the only process of a dump stands, and by which call."""
    (process,) = read(text)
    place = places.of(process)
    assert place is not None
    return place.name, place.call


@pytest.mark.parametrize(
    ("text", "call"),
    [
        (dumps.PYSPY_WAITS.format(pid=30656), "all_reduce (distributed_c10d.py:3252)"),
        (dumps.PYSPY_NATIVE, "c10d::Work::wait"),
        (dumps.GDB, "c10d::Work::wait"),
        (dumps.EU_STACK, "c10d::Work::wait"),
        (dumps.FAULTHANDLER, "all_reduce (distributed_c10d.py:3252)"),
        (dumps.BACKWARD, "all_gather_into_tensor (distributed_c10d.py:2709)"),
    ],
    ids=["py-spy", "py-spy --native", "gdb", "eu-stack", "faulthandler", "in a backward pass"],
)
def test_a_process_that_waits_for_its_peers_stands_in_a_collective(text, call):
    assert ("collective", call) == stands(text)


@pytest.mark.parametrize("text", [dumps.PYSPY_ELSEWHERE.format(pid=7), dumps.PYSTACK])
def test_a_process_elsewhere_stands_in_its_innermost_call(text):
    assert ("", "load_shard (train.py:6)") == stands(text)


@pytest.mark.parametrize(
    ("place", "calls"),
    [
        ("setup", ["barrier (distributed_c10d.py:3685)", "init_process_group (run.py:9)"]),
        ("setup", ["_store_based_barrier (distributed_c10d.py:480)", "main (run.py:3)"]),
        ("lock", ["wait (file_baton.py:42)", "load (cpp_extension.py:1202)"]),
        ("save", ["_save (serialization.py:861)", "save (serialization.py:619)", "fit (run.py:8)"]),
        ("save", ["write (fs.py:3)", "_save_checkpoint (trainer.py:3077)"]),
        ("data", ["get (queue.py:180)", "_try_get_data (dataloader.py:1243)", "next (run.py:4)"]),
        ("device", ["synchronize (__init__.py:892)", "log (run.py:8)"]),
        ("collective", ["recv (distributed_c10d.py:2020)", "recv_forward (run.py:4)"]),
        ("end", ["wait (threading.py:320)", "_exit_function (util.py:334)"]),
        ("", ["sleep (run.py:4)", "poll_server (run.py:8)"]),
    ],
)
def test_the_innermost_call_that_is_known_says_where_a_process_stands(place, calls):
    stack = "".join(f"    {call}\n" for call in calls)
    text = f'Process 9: python run.py\n\nThread 9 (idle): "MainThread"\n{stack}'
    assert place == stands(text)[0]


@pytest.mark.parametrize(
    "calls",
    [
        "    wait (subprocess.py:1917)\n    main (launch.py:3)\n",
        "    _invoke_run (torch/distributed/elastic/agent/server/api.py:870)\n",
        "    get (queue.py:180)\n    _worker_loop (torch/utils/data/_utils/worker.py:275)\n",
    ],
)
def test_launchers_and_workers_of_loaders_do_not_count(calls):
    (process,) = read(f'Process 9: python run.py\n\nThread 9 (idle): "MainThread"\n{calls}')
    assert places.of(process) is None


@pytest.mark.parametrize("above", ["=== rank 3 ===", "# Rank: 3", "py-spy dump of rank 3", "rank3"])
def test_a_heading_names_the_rank_of_the_dump_below_it(above):
    (process,) = read(f"{above}\n{dumps.PYSPY_WAITS.format(pid=7)}")
    assert 3 == process.rank


def test_a_command_names_its_rank():
    (process,) = read(dumps.BACKWARD)
    assert 5 == process.rank


def test_a_line_that_names_rank_and_process_names_that_processs_rank_only():
    said = "rank 1 pid 11\nrank 0 pid 10\n"
    dumped = "".join(dumps.PYSPY_WAITS.format(pid=pid) for pid in (10, 11, 12))
    assert [0, 1, None] == [process.rank for process in read(said + dumped)]


def test_a_sentence_about_a_rank_is_no_heading():
    (process,) = read(f"rank 3 hangs since yesterday\n{dumps.PYSPY_WAITS.format(pid=7)}")
    assert process.rank is None


def test_prefixes_of_a_launcher_and_marks_of_quotation_are_passed_over():
    plain = dumps.FAULTHANDLER.replace("\n\n", "\n")
    for prefix in ("[rank6]: ", "> "):
        lines = "".join(f"{prefix}{line}\n" for line in plain.splitlines())
        assert "collective" == stands(lines)[0]
    (process,) = read("".join(f"[rank6]: {line}\n" for line in plain.splitlines()))
    assert 6 == process.rank


def test_two_processes_without_a_number_are_told_apart_by_their_main_threads():
    assert 2 == len(read(dumps.FAULTHANDLER.replace("Timeout (0:05:00)!\n", "") * 2))
    assert 2 == len(read(dumps.GDB * 2))
    assert 2 == len(read(dumps.PYSTACK * 2))


@pytest.mark.parametrize(
    "above",
    [
        "Fatal Python error: Segmentation fault\n",
        'Thread 1 "python" received signal SIGSEGV, Segmentation fault.\n',
        "Program terminated with signal SIGBUS, Bus error.\n",
    ],
)
def test_the_stack_of_a_crash_is_none_of_a_process_that_stands(above):
    stack = "\n".join(dumps.FAULTHANDLER.splitlines()[5:])
    assert [] == read(f"{above}{stack}\n")


def test_a_signal_that_only_stops_a_process_is_no_crash():
    stopped = 'Thread 1 "python" received signal SIGINT, Interrupt.\n'
    assert "collective" == stands(stopped + dumps.GDB)[0]


LISTED = """\
(gdb) info threads
  Id   Target Id         Frame
* 1    Thread 0x7fc73ac5d700 (LWP 48310) "" select_poll_poll () at selectmodule.c.h:219
  2    Thread 0x7fc6b59e6700 (LWP 48462) "" pthread_cond_wait@@GLIBC_2.3.2 () at wait.S:185
  3    Thread 0x7fc6bae16700 (LWP 48636) "pt_main" 0x00007fc739c8384d in poll () at poll.S:84
"""


def test_gdbs_list_of_threads_is_a_process_with_a_call_each():
    (process,) = read(LISTED)
    assert 48310 == process.pid
    assert ["select_poll_poll", "pthread_cond_wait", "poll"] == [
        call for thread in process.threads for call in thread.calls
    ]
    assert ("", "select_poll_poll") == stands(LISTED)
