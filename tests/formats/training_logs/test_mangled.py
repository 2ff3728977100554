"""Whatever happens to lines on their way into a file, no value is read that was not written."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from rankscope.formats import training_logs

from . import forms

AT = 1_787_000_000.0
DERIVED = {"training.step.duration", "training.skipped"}
"""Differences between lines: another line before gives another value."""

BESIDE = [
    "saving checkpoint to /ckpt/step-10",
    "[rank1]: warnings.warn('loss is not what you think')",
    "\r 10%|█         | 10/100 [00:01<00:09,  9.21it/s]",
    "\r                                        \r",
    "node1:1:2 [0] NCCL INFO Channel 00/0 : 1[1] -> 2[2] via P2P/IPC",
    "\x1b[31merror: nothing\x1b[0m",
    "{'eval_loss': 1.5, 'epoch': 1.0}",
    "|",
    "",
]


def shown(logged):
    return {
        sample.metric: sample.value for sample in logged.samples if sample.metric not in DERIVED
    }


def read(data, pieces=1 << 20):
    parser = training_logs.TrainingLogParser(rank=0)
    found = []
    for start in range(0, len(data), pieces):
        found += parser.feed(data[start : start + pieces], AT)
    return found + parser.end(AT), parser


def whole(name):
    """Return the values of each line of a form, as read from the lines as they were written."""
    data = "".join(f"{line}\n" for line in forms.lines(name)).encode()
    return [shown(logged) for logged in read(data)[0]]


def holds(values, lines):
    """Return whether all values are those of one line."""
    return any(
        all(
            name in line and (line[name] == value or (math.isnan(line[name]) and math.isnan(value)))
            for name, value in values.items()
        )
        for line in lines
    )


def check(name, data):
    lines = whole(name)
    assert lines
    for logged in read(data)[0]:
        values = shown(logged)
        assert not values or holds(values, lines), (values, data)


PLACES = st.lists(st.integers(0, 400), min_size=0, max_size=4)


@pytest.mark.parametrize("name", forms.NAMES)
@settings(derandomize=True, max_examples=examples(60), deadline=None)
@given(cuts=PLACES, others=st.lists(st.sampled_from(BESIDE), min_size=4, max_size=4))
def test_lines_torn_by_whole_lines_of_others_give_no_wrong_value(name, cuts, others):
    text = "".join(f"{line}\n" for line in forms.lines(name))
    for place, other in sorted(zip(cuts, others, strict=False), reverse=True):
        end = "" if other.startswith("\r") else "\n"
        text = text[:place] + other + end + text[place:]
    check(name, text.encode())


@pytest.mark.parametrize("name", forms.NAMES)
@settings(derandomize=True, max_examples=examples(60), deadline=None)
@given(begin=st.integers(0, 400), length=st.integers(0, 400))
def test_lines_of_which_a_part_is_lost_give_no_wrong_value(name, begin, length):
    """Within one line: a part that goes over an end of line joins two lines into one."""
    text = "".join(f"{line}\n" for line in forms.lines(name))
    end = text.find("\n", begin)
    cut = min(begin + length, end if end >= 0 else len(text))
    check(name, (text[:begin] + "\n" + text[cut:]).encode())


@pytest.mark.parametrize("name", forms.NAMES)
@settings(derandomize=True, max_examples=examples(30), deadline=None)
@given(places=PLACES, code=st.sampled_from(["\x1b[31m", "\x1b[38;2;1;2;3m", "\x1b]0;t\x07"]))
def test_colours_give_no_wrong_value(name, places, code):
    text = "".join(f"{line}\n" for line in forms.lines(name))
    for place in sorted(places, reverse=True):
        text = text[:place] + code + text[place:]
    check(name, text.encode())


@pytest.mark.parametrize("name", [name for name in forms.NAMES if name != "megatron"])
@pytest.mark.parametrize("code", ["\x1b[31m", "\x1b[0m", "\x1b[38;2;1;2;3m"])
def test_colours_around_values_change_nothing(name, code):
    plain = forms.lines(name)
    lines = [line.replace(": ", f": {code}").replace(", ", f"{code}, ") for line in plain]
    data = "".join(f"{line}\n" for line in lines).encode()
    assert [shown(one) for one in read(data)[0]] == whole(name)


@pytest.mark.parametrize("name", forms.NAMES)
@pytest.mark.parametrize("size", [1, 3, 17, 100])
def test_the_pieces_in_which_a_file_is_read_change_nothing(name, size):
    data = "".join(f"{line}\n" for line in forms.lines(name)).encode()
    assert [(one.line, shown(one)) for one in read(data, size)[0]] == [
        (one.line, shown(one)) for one in read(data)[0]
    ]


@pytest.mark.parametrize("name", forms.NAMES)
def test_two_ranks_that_write_without_prefixes_in_pieces_of_lines_give_no_wrong_value(name):
    """A line of the other in between, whole or in two.

    Not seen is a tear inside a number that digits alone of another writer fill.
    """
    first, second = forms.lines(name)[:2]
    for place in range(1, len(first), 5):
        check(name, f"{first[:place]}{second}\n{first[place:]}\n".encode())
        for other in range(3, len(second), 31):
            text = f"{first[:place]}{second[:other]}{first[place:]}\n{second[other:]}\n"
            check(name, text.encode())


def test_a_torn_line_of_the_logs_own_format_is_counted():
    whole_line, torn = forms.lines("megatron")[:2]
    _, parser = read(f"{whole_line}\n{torn[:150]}\n".encode())
    assert parser.missed == {"form": 1}


@settings(derandomize=True, max_examples=examples(200), deadline=None)
@given(data=st.binary(max_size=600), pieces=st.integers(1, 100))
def test_any_bytes_are_read_without_an_error(data, pieces):
    for logged in read(data, pieces)[0]:
        assert logged.line >= 1


@settings(derandomize=True, max_examples=examples(100), deadline=None)
@given(text=st.text(max_size=200), line=st.sampled_from(forms.FAULTS))
def test_no_control_character_and_no_tag_leaves_with_a_line(text, line):
    data = f"{text}{line}{text}<script>alert(1)</script>\x1b]8;;http://x\x07\u202e\n".encode(
        errors="replace"
    )
    for logged in read(data)[0]:
        texts = [logged.text]
        texts += [str(value) for one in logged.events for value in one.attributes.values()]
        for one in texts:
            assert len(one) <= 500
            assert "<script" not in one
            assert not any(ord(char) < 32 or 127 <= ord(char) < 160 for char in one)
            assert "\u202e" not in one


def test_a_line_without_an_end_takes_no_memory_and_its_beginning_is_looked_at():
    parser = training_logs.TrainingLogParser(rank=0)
    parser.feed(b"RuntimeError: CUDA error: device-side assert triggered ")
    for _ in range(100):
        parser.feed(b"x" * 100_000)
    assert len(parser._rest) <= 8192
    (logged,) = parser.feed(b"tail\niter 7: loss 2.3456, time 123.45ms\n", AT)[:1]
    assert logged.events[0].attributes["signature"] == "cuda.device_assert"


def test_after_bytes_were_left_out_reading_goes_on_with_the_next_line():
    parser = training_logs.TrainingLogParser(rank=0)
    parser.feed(b"iter 1: loss 1.", AT)
    parser.skip()
    found = parser.feed(b"25, time 1.00ms\niter 7: loss 2.5, time 3.00ms\n", AT)
    assert [shown(one) for one in found] == [{"training.step": 7, "training.loss": 2.5}]
