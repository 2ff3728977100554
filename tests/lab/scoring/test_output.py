"""What people read: tables, the page, its pictures, and two results side by side."""

import dataclasses
import io
import json
import xml.dom.minidom

import pytest

from rankscope.lab import suites
from rankscope.lab.scoring import comparing, document, page, pictures, report
from rankscope.vocabulary import entities

GPU = entities.gpu("GPU-3", "gpu-00", (3,))


@pytest.fixture
def made(incident, truth, result):
    rows = [
        result(truth(), [incident(4.0, GPU)], name="a"),
        result(truth(), [incident(8.0, entities.host("gpu-09"))], name="b", strength="weak"),
        result(truth(), [], name="c"),
        result(None, [incident(5.0, summary="a | [b] <c>")], name="d"),
        dataclasses.replace(result(None, error="Traceback\nValueError: x", name="e"), found={}),
    ]
    suite = suites.suite("tuning")
    return document.document(suite, rows, command="rankscope lab score --suite tuning", seed=7001)


def test_the_document_names_every_mistake_and_error(made):
    assert ["c"] == [row["name"] for row in made["missed"]]
    assert ["b"] == [row["name"] for row in made["wrong_entity"]]
    assert ["d"] == [row["name"] for row in made["false"]]
    assert ["e"] == [row["case"] for row in made["errors"]]
    assert {"gpu.slow": [4.0, 8.0]} == made["delays"]
    json.dumps(made, allow_nan=False)


def test_the_terminal_shows_every_table_and_the_last_line_of_an_error(made):
    out = io.StringIO()
    report.show(made, out)
    text = out.getvalue()
    for expected in ("suite tuning (seed 7001): 5 cases", "By fault", "By cluster shape", "Missed",
                     "a | [b] <c>", "error: e: ValueError: x"):  # fmt: skip
        assert expected in text
    assert "\x1b" not in text


def test_the_page_is_the_same_every_time_and_has_two_pictures(made, tmp_path):
    files = page.write(made, tmp_path / "docs")
    again = page.write(made, tmp_path / "again")
    assert [f.read_bytes() for f in files] == [f.read_bytes() for f in again]
    text = (tmp_path / "docs" / "accuracy.md").read_text()
    assert "rankscope lab score --suite tuning" in text
    assert "a \\| [b] <c>" in text
    assert "Minder" in text
    for path in files[1:]:
        assert f"({path.relative_to(tmp_path / 'docs')})" in text
        assert xml.dom.minidom.parse(str(path)).getElementsByTagName("svg")  # noqa: S318  ours


def test_the_page_has_no_cpu_time_in_it(made):
    other = {**made, "cpu": {"rankscope": 99.0}}
    assert page.text(made) == page.text(other)


def test_the_confusion_matrix_shows_right_and_wrong_in_different_colours():
    drawn = pictures.confusion({"gpu.slow": {"gpu.slow": 3, "none": 1}, "healthy": {"none": 2}})
    assert ["3", "1", "2"] == [part.split(">")[1].split("<")[0] for part in drawn.splitlines()
                               if "middle" in part]  # fmt: skip
    assert "#1f62a8" in drawn


def test_a_fault_that_was_never_found_says_so_in_the_delays():
    drawn = pictures.delays({"gpu.slow": [1.0, 2.0, 9000.0], "gpu.lost": []})
    assert 3 == drawn.count("<circle")
    assert 1 == drawn.count("never found")


def test_progress_without_a_terminal_is_lines(result):
    out = io.StringIO()
    with report.progress(2, out) as told:
        told(1, 2, result(name="a"))
        told(2, 2, result(name="b", error="Traceback\nValueError: x"))
    assert [
        "1 of 2 cases",
        "error in case b: ValueError: x",
        "2 of 2 cases",
    ] == out.getvalue().splitlines()


def test_results_are_compared_in_points(made):
    better = json.loads(json.dumps(made))
    better["methods"]["rankscope"]["recall"] = made["methods"]["rankscope"]["recall"] + 0.05
    rows = {row.name: row for row in comparing.differences(made, better)}
    assert pytest.approx(5.0) == rows["recall"].points
    assert not rows["recall"].within(3)
    assert rows["recall"].within(5)
    assert rows["precision"].within(0)


def test_a_share_that_one_result_does_not_have_is_a_difference():
    nan = float("nan")
    assert comparing.FigureDifference("recall", nan, nan).within(0)
    assert not comparing.FigureDifference("recall", nan, 0.5).within(100)


def test_a_file_that_is_no_result_is_named(tmp_path):
    other = tmp_path / "other.json"
    for content in ("[]", "{}", "not json"):
        other.write_text(content)
        with pytest.raises(comparing.CompareError, match=r"other\.json"):
            comparing.load(other)
    with pytest.raises(comparing.CompareError, match="No such file"):
        comparing.load(tmp_path / "none.json")


def test_the_title_of_a_comparison_says_in_what_the_cases_differ(made):
    fewer = {**made, "command": f"{made['command']} --only gpu.slow", "cases": 1}
    title, head, _ = comparing.table(made, made, comparing.differences(made, made), 3)
    assert "Comparison" == title
    assert "tuning (seed 7001), 5 cases" == head[1] == head[2]
    title, head, _ = comparing.table(made, fewer, comparing.differences(made, fewer), 3)
    assert "Comparison of different cases: other --only, number of cases" == title
    assert "tuning (seed 7001) --only gpu.slow, 1 case" == head[2]


def test_a_share_that_a_result_does_not_have_is_a_dash(made):
    healthy = json.loads(json.dumps(made))
    for name in comparing.SHARES:
        healthy["methods"]["rankscope"][name] = None
    *_, lines = comparing.table(made, healthy, comparing.differences(made, healthy), 3)
    assert {"-"} == {line[2] for line in lines} | {line[3] for line in lines}
    assert {"in one of them only"} == {line[4] for line in lines}
    *_, lines = comparing.table(healthy, healthy, comparing.differences(healthy, healthy), 3)
    assert {("-", "-", "-", "")} == {line[1:] for line in lines}


def test_a_result_of_no_cases_is_compared_with_nothing(made, tmp_path):
    path = tmp_path / "none.json"
    path.write_text(json.dumps({**made, "cases": 0}))
    with pytest.raises(comparing.CompareError, match=r"none\.json: a result of no cases"):
        comparing.load(path)
