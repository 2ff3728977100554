"""What a missing source costs: the same cases with it and without it."""

import pytest

from rankscope.lab import suites
from rankscope.lab.scoring import withheld
from rankscope.lab.suites import withheld as cases
from rankscope.lab.suites.tables import SuiteError
from rankscope.vocabulary import entities

GPU = entities.gpu("GPU-3", "gpu-00", (3,))


@pytest.fixture(scope="module")
def drawn():
    return suites.draw(suites.suite("tuning"))


def test_each_case_that_reports_everything_is_run_once_more_without_the_source(drawn):
    complete = cases.complete(drawn)
    assert all(case.missing == "none" and case.fault and case.observable for case in complete)
    less = cases.without(complete, "devices")
    by_name = {case.name: case for case in complete}
    assert less
    for case in less:
        assert "devices" == case.missing
        assert "hw.gpu.*" in case.scenario.reporting.hidden
        assert case.seed == by_name[case.name].seed


def test_few_cases_are_spread_over_the_faults(drawn):
    complete = cases.complete(drawn)
    few, more = cases.spread(complete, 20), cases.spread(complete, 30)
    assert 20 == len(few) == len({case.fault for case in few})
    assert {case.name for case in few} < {case.name for case in more}
    assert len(complete) == len(cases.spread(complete, 10_000))
    given = withheld.cases_of(drawn, ["logs"], 20)
    assert {case.name for case in given} == {case.name for case in few}


def test_a_fault_that_only_this_source_shows_is_left_out(drawn):
    complete = cases.complete(drawn)
    named = {case.fault for case in complete} - {
        case.fault for case in cases.without(complete, "devices")
    }
    assert "gpu.row_remap" in named
    assert "software.deadlock" not in named


def test_an_unknown_source_is_named_with_those_there_are(drawn):
    with pytest.raises(SuiteError, match="no source 'disks'; one of collectives"):
        cases.without(drawn, "disks")


@pytest.fixture
def results(truth, result, incident):
    right, unknown = (
        incident(4.0, GPU, unknown=0.5),
        incident(4.0, GPU, fault="unknown", unknown=2.5),
    )
    return [
        result(truth(), [right], name="a"),
        result(truth(), [right], name="b"),
        result(truth(), [right], name="a", missing="devices"),
        result(truth(), [unknown], name="b", missing="devices"),
        result(truth(), [], name="b", missing="logs"),
    ]


def test_a_source_costs_what_the_same_cases_lose(results):
    devices, logs = withheld.costs(results)
    assert ("devices", 2, -50.0) == (devices.source, devices.cases, devices.points)
    assert (1.0, 0.5) == (devices.given.first, devices.withheld.first)
    assert (0.0, 0.5) == (devices.given.unknown, devices.withheld.unknown)
    assert (0.5, 1.5) == (devices.given.score, devices.withheld.score)
    assert ("logs", 1, 1.0, 0.0) == (logs.source, logs.cases, logs.given.found, logs.withheld.found)


def test_the_page_and_the_document_have_a_row_a_source(results, tmp_path):
    found = withheld.costs(results)
    path = withheld.write(found, "rankscope lab score --suite tuning --without all", tmp_path)
    text = path.read_text(encoding="utf-8")
    assert "| devices | 2 | 1.000 / 1.000 | 1.000 / 0.500 | -50.0 |" in text
    assert "--without all" in text
    assert [None, None] == [found[1].document()["points"], found[1].document()["without"]["first"]]
