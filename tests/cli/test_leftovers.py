"""The report of what a dead job left: the answer first, then the lines that say so."""

import io
import sys

import pytest

from rankscope.cli.main import main

OOM = "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
XID = (
    "2026-05-13T12:00:06.000000+00:00 node-a kernel: NVRM: Xid (PCI:0000:18:00): 79, pid=1, "
    "GPU has fallen off the bus.\n"
)


@pytest.fixture
def printed(tmp_path, capsys):
    """Return a function that diagnoses files by name and returns exit code, stdout and stderr."""

    def run(**files):
        for name, text in files.items():
            (tmp_path / name.replace("__", ".")).write_text(text)
        code = main(["diagnose", str(tmp_path)])
        captured = capsys.readouterr()
        return code, captured.out.splitlines(), captured.err

    return run


def test_the_first_lines_are_what_happened_where_how_sure_and_what_to_check(printed):
    code, lines, _ = printed(job__log="start\n" + OOM)
    assert 0 == code
    assert lines[0].startswith("GPU out of memory: rank 3")
    assert "critical, since " in lines[1]
    assert "medium confidence, probability " in lines[1]
    assert any(line.startswith("Check next: ") for line in lines[2:5])


def test_a_line_is_quoted_with_its_place_time_rank_and_host(printed):
    _, lines, _ = printed(dmesg__txt=XID)
    quoted = lines[lines.index("Lines that say so, first errors first:") + 1]
    assert quoted.startswith("  dmesg.txt:1: [root] 2026-05-13 12:00:06Z on node-a: NVRM: Xid")


def test_where_no_cause_is_named_the_lines_are_said_to_be_all_that_is_known(printed):
    text = "[n3:195:0:195] ib_mlx5_log.c:139  Transport retry count exceeded on mlx5_0:1/IB\n"
    _, lines, _ = printed(job__log=text)
    assert any("no cause is named" in line for line in lines[:4])


def test_where_nothing_speaks_of_a_fault_what_was_looked_for_and_what_lacks_is_said(printed):
    step = "[2026-05-13 12:00:10] iteration 1/ 500 | elapsed time per iteration (ms): 1.0 | lm loss: 1.0E+00 |\n"  # noqa: E501
    code, lines, complaint = printed(job__log=step)
    assert (1, []) == (code, lines)
    assert "no fault shows in the 1 files that could be read" in complaint
    assert "looked for: lines of known faults in logs of jobs and kernels" in complaint
    assert "missing: no Flight Recorder dump" in complaint
    assert "missing: no log of a rank" not in complaint


def test_standard_input_is_diagnosed(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(OOM.encode())))
    assert 0 == main(["diagnose", "-"])
    assert "standard input:1: [root] " in capsys.readouterr().out
