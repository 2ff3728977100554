"""OTLP JSON lines: their order, and what is wrong with them."""

import gzip
import json

import pytest

from rankscope.collector.recordings import otlp_lines
from rankscope.collector.recordings.otlp_lines import RecordingError


def line(at, name="training.step"):
    point = {"timeUnixNano": str(int(at * 1e9)), "asDouble": at}
    metric = {"name": name, "gauge": {"dataPoints": [point]}}
    return json.dumps({"resourceMetrics": [{"scopeMetrics": [{"metrics": [metric]}]}]}) + "\n"


@pytest.fixture
def warned():
    return []


@pytest.fixture
def read(warned):
    """Return a function that reads files and gives (file name, line number) in order."""

    def run(*paths):
        found = otlp_lines.lines(paths, warn=warned.append)
        return [(one.file.name, one.number) for one in found]

    return run


def test_one_file_keeps_the_order_of_its_lines(tmp_path, read):
    (tmp_path / "a.jsonl").write_text(line(3) + line(1) + line(2))
    assert read(tmp_path / "a.jsonl") == [("a.jsonl", 1), ("a.jsonl", 2), ("a.jsonl", 3)]


def test_several_files_are_merged_by_event_time_then_name_then_line(tmp_path, read):
    (tmp_path / "b.jsonl").write_text(line(1) + line(5) + line(5))
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress((line(5) + line(2)).encode()))
    assert read(*otlp_lines.files(tmp_path)) == [
        ("b.jsonl", 1),
        ("a.jsonl.gz", 2),
        ("a.jsonl.gz", 1),
        ("b.jsonl", 2),
        ("b.jsonl", 3),
    ]


def test_only_recordings_of_a_folder_are_read(tmp_path):
    for name in ("b.jsonl", "a.jsonl.gz", "notes.txt"):
        (tmp_path / name).touch()
    assert [file.name for file in otlp_lines.files(tmp_path)] == ["a.jsonl.gz", "b.jsonl"]


def test_a_line_without_a_time_stays_behind_the_one_before_it(tmp_path, read):
    empty = '{"resourceMetrics": []}\n'
    (tmp_path / "a.jsonl").write_text(line(1) + empty + line(9))
    (tmp_path / "b.jsonl").write_text(line(5))
    order = read(tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    assert order == [("a.jsonl", 1), ("a.jsonl", 2), ("b.jsonl", 1), ("a.jsonl", 3)]


def test_one_absurd_time_does_not_say_when_a_line_was_written():
    wild = line(100)[:-1].replace("resourceMetrics", "x") + line(1e9) + line(101) + line(99)
    assert otlp_lines.event_time(wild.encode()) == 101.0


def test_times_inside_texts_are_not_times():
    text = json.dumps({"resourceLogs": [{"body": json.dumps({"timeUnixNano": "5000000000"})}]})
    assert otlp_lines.event_time(text.encode()) is None


def test_a_record_without_its_own_time_has_that_of_its_observation():
    text = '{"resourceLogs": [{"timeUnixNano": "0", "observedTimeUnixNano": "7000000000"}]}'
    assert otlp_lines.event_time(text.encode()) == 7.0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"plain text", "not JSON: Expecting value at column 1"),
        (b'{"resourceMet', "not JSON: Unterminated string starting at column 2"),
        (b"\xff\xfe\x00", "not JSON: not UTF-8 at byte 1"),
        (b"[" * 100_000, "not JSON: nested too deeply"),
        (b"9" * 5000, "not JSON: a number of more digits than are read"),
        (b'{"spans": []}', "neither resourceMetrics nor resourceLogs: no OTLP request"),
        (b"[1]", "neither resourceMetrics nor resourceLogs: no OTLP request"),
    ],
)
def test_a_line_that_is_no_request_is_named_with_what_it_is(tmp_path, read, text, words):
    (tmp_path / "a.jsonl").write_bytes(line(1).encode() + text + b"\n" + line(2).encode())
    with pytest.raises(RecordingError) as caught:
        read(tmp_path / "a.jsonl")
    assert f"{tmp_path / 'a.jsonl'}:2: {words}" == str(caught.value)


def test_a_last_line_that_is_whole_without_its_end_is_not_called_cut_off(tmp_path, read):
    (tmp_path / "a.jsonl").write_text(line(1) + '{"spans": []}')
    with pytest.raises(RecordingError, match=r"a\.jsonl:2: neither"):
        read(tmp_path / "a.jsonl")


def test_blank_lines_and_traces_are_passed_over(tmp_path, read):
    (tmp_path / "a.jsonl").write_text("\n" + '{"resourceSpans": []}\n{}\n' + line(1))
    assert read(tmp_path / "a.jsonl") == [("a.jsonl", 4)]


def test_a_cut_off_last_line_is_left_out_with_a_word(tmp_path, read, warned):
    (tmp_path / "a.jsonl").write_text(line(1) + '{"resou')
    assert read(tmp_path / "a.jsonl") == [("a.jsonl", 1)]
    assert len(warned) == 1
    assert "a.jsonl:2" in warned[0]


def test_a_compressed_file_that_stops_in_the_middle_gives_what_it_has(tmp_path, read, warned):
    packed = gzip.compress(b"".join(line(at).encode() for at in range(1, 2000)))
    (tmp_path / "a.jsonl.gz").write_bytes(packed[: len(packed) // 2])
    assert len(read(tmp_path / "a.jsonl.gz")) > 10
    assert "cut off" in warned[0]


def test_a_file_that_is_not_what_its_name_says_is_an_error(tmp_path, read):
    (tmp_path / "a.jsonl.gz").write_bytes(b"not compressed at all")
    with pytest.raises(RecordingError, match=r"a\.jsonl\.gz"):
        read(tmp_path / "a.jsonl.gz")
