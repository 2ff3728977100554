"""When the process started, as the kernel dates it."""

import os

import psutil

from rankscope.probe.attaching import start_time


def test_it_is_when_the_kernel_says_the_process_started():
    created = psutil.Process().create_time()
    found = start_time()
    assert found is not None
    assert abs(found - created) <= 2, "the boot's date and both fractions are cut to seconds"


def test_a_program_whose_name_holds_spaces_and_brackets_is_read_right(tmp_path):
    ticks = os.sysconf("SC_CLK_TCK")
    (tmp_path / "self").mkdir()
    middle = " ".join(["0"] * 18)
    (tmp_path / "self" / "stat").write_text(f"7 (a) b (c) R {middle} {30 * ticks} 0 0\n")
    (tmp_path / "stat").write_text("cpu 1 2 3\nbtime 1700000000\nprocesses 9\n")
    assert 1_700_000_030 == start_time(tmp_path)


def test_without_proc_it_is_unknown(tmp_path):
    assert start_time(tmp_path) is None
    (tmp_path / "self").mkdir()
    (tmp_path / "self" / "stat").write_text("nonsense")
    (tmp_path / "stat").write_text("btime soon\n")
    assert start_time(tmp_path) is None
