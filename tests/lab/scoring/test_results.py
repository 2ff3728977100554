"""Results survive their file, whatever happened to it."""

import json

from rankscope.lab.scoring import results


def test_a_result_reads_back_as_it_was(tmp_path, result, incident, truth):
    file = tmp_path / "folder" / "tuning.jsonl"
    rows = [
        result(truth(until=60.0), [incident(5.0, truth().entity)], name="a"),
        result(truth(), [incident(5.0)], name="b", detector_failures={"stalls": 2}),
        result(None, [], name="c"),
    ]
    results.append(file, rows[:2])
    results.append(file, rows[2:])
    assert {row.key: row for row in rows} == results.read(file)


def test_a_file_that_is_not_there_has_no_results(tmp_path):
    assert {} == results.read(tmp_path / "none.jsonl")


def test_a_torn_last_line_is_left_out_and_written_after(tmp_path, result):
    file = tmp_path / "tuning.jsonl"
    results.append(file, [result(name="a"), result(name="b")])
    file.write_text(file.read_text()[:-40])
    assert ["a"] == list(results.read(file))
    results.append(file, [result(name="c")])
    assert ["a", "c"] == list(results.read(file))


def test_lines_of_another_version_are_left_out(tmp_path, result):
    file = tmp_path / "tuning.jsonl"
    results.append(file, [result(name="a")])
    with file.open("a") as lines:
        lines.write(json.dumps({"key": "b"}) + "\n" + "[]\n")
    assert ["a"] == list(results.read(file))


def test_a_case_failed_where_it_or_a_detector_raised(result):
    assert result(error="Traceback").failed
    assert result(detector_failures={"stalls": 1}).failed
    assert not result().failed
