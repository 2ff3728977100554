"""The main thread of what py-spy dumps."""

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
