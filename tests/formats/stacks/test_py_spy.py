"""The main thread of what py-spy dumps and records."""

import json

import pytest

from rankscope.formats.stacks import py_spy

DUMPED = """Process 7: python train.py
Python v3.11.7

Thread 7 (idle): "MainThread"
    hold (/opt/data.py:18)
    <module> (train.py:19)
Thread 8 (idle): "rankscope-probe"
    wait (threading.py:331)
"""


def test_the_main_thread_is_what_counts_with_file_names_without_folders():
    assert ["hold (data.py:18)", "<module> (train.py:19)"] == py_spy.main_thread(DUMPED)
    assert [] == py_spy.main_thread("anything else")


def test_names_with_spaces_and_brackets_are_calls_of_the_stack_too():
    called = DUMPED.replace("hold (/opt/data.py:18)", "operator () (x) (my data.py:18)")
    assert "operator () (x) (my data.py:18)" in py_spy.main_thread(called)


def test_a_process_without_threads_has_a_main_thread_without_a_name():
    text = "Process 41: python t.py\nThread 41 (idle)\n    forward (t.py:3)\n    <module> (t.py:9)"
    assert ["forward (t.py:3)", "<module> (t.py:9)"] == py_spy.main_thread(text)


def recording(*threads):
    frames = [
        {"name": "<module>", "file": "/opt/train.py", "line": 19, "col": None},
        {"name": "hold", "file": "/opt/data.py", "line": 18, "col": None},
        {"name": "gc_collect_main", "file": "", "line": None, "col": None},
    ]
    rows = [
        {"type": "sampled", "name": name, "unit": "seconds", "samples": looks}
        for name, looks in threads
    ]
    return json.dumps({"shared": {"frames": frames}, "profiles": rows}).encode()


def test_a_recording_has_the_main_threads_calls_at_each_look():
    text = recording(('Thread 8 "probe"', [[0]]), ('Thread 7 "MainThread"', [[0, 1], [0, 1, 2]]))
    outer = ["hold (data.py:18)", "<module> (train.py:19)"]
    assert [outer, ["gc_collect_main ()", *outer]] == py_spy.recorded(text, 7)
    assert [["<module> (train.py:19)"]] == py_spy.recorded(recording(("Thread 7", [[0]])), 7)
    assert [] == py_spy.recorded(recording(("Thread 8", [[0]])), 7)


@pytest.mark.parametrize("text", [b"", b"[]", b"{}", recording(('Thread 7 "MainThread"', [[9]]))])
def test_what_is_no_recording_is_refused(text):
    with pytest.raises(ValueError, match=r"no recording of py-spy|Expecting value"):
        py_spy.recorded(text, 7)
