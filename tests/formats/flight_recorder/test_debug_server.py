"""What torch's debug server shows: pages with every rank's list, and dumps of stacks."""

import json

import pytest

from rankscope.formats.flight_recorder import debug_server

from .recorder import fields, operation


def page(*ranks):
    """Return a page as PyTorch 2.13 renders it: by rank its dump, or why there is none."""
    parts = []
    for rank, body in enumerate(ranks):
        dumped = isinstance(body, dict)
        shown = f"<pre>{json.dumps(body, indent=2)}</pre>" if dumped else f"<p>{body}</p>"
        parts.append(f"<h2>Rank {rank}: http://node:3{rank}/handler/fr_trace_json?</h2>\n\n{shown}")
    head = "<head><title>Torch Distributed Debug Server</title></head><body>"
    return head + "<h1>FlightRecorder</h1>".join(["", "\n".join(parts)]) + "</body>"


STACKS = """=== Rank 0: http://node:35385/handler/dump_traceback? ===
Current thread 0x00007f6d57fff6c0 (most recent call first):
  <no Python frame>

Thread 0x00007f6d7ea0cb80 (most recent call first):
  File "/site/torch/distributed/distributed_c10d.py", line 3252 in all_reduce
  File "/job/train.py", line 10 in <module>

=== Rank 1: http://node:42225/handler/dump_traceback? ===
Current thread 0x00007f2757fff6c0 (most recent call first):
  <no Python frame>

Thread 0x00007f277ec3cb80 (most recent call first):
  File "/job/train.py", line 3 in stuck
  File "/job/train.py", line 9 in <module>
"""
PARTIAL = "PARTIAL DATA: 1/2 workers responded\n  Rank 1: Read timed out.\n\n" + STACKS


def test_a_page_holds_the_list_of_each_rank_that_answered():
    made = page(fields(5, 5), "Failed to fetch: 500", fields(6, 5, [operation(6)]))
    assert debug_server.is_page(made.encode())
    found = debug_server.lists(made)
    assert [0, 2] == sorted(found)
    assert fields(6, 5, [operation(6)])["pg_config"] == json.loads(found[2])["pg_config"]


def test_stacks_are_cut_by_rank():
    assert debug_server.is_stacks(STACKS.encode())
    parts = dict(debug_server.stacks(STACKS.splitlines()))
    assert [0, 1] == sorted(parts)
    assert any("stuck" in line for line in parts[1])


def test_ranks_that_did_not_answer_are_said_before_the_others():
    assert debug_server.is_stacks(PARTIAL.encode())
    assert {1: "Read timed out."} == debug_server.silent(PARTIAL.splitlines())
    assert {} == debug_server.silent(STACKS.splitlines())


@pytest.mark.parametrize("text", ["", "<html><title>x</title>", "=== Rank 0 ===\n", "step 1"])
def test_other_files_are_neither(text):
    assert not debug_server.is_page(text.encode())
    assert not debug_server.is_stacks(text.encode())
