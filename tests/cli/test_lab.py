"""`rankscope lab`: lists and injects faults, records scenarios, scores suites, names mistakes."""

import dataclasses
import json

import pytest

from rankscope.cli.laboratory import arguments, real_job
from rankscope.cli.main import main
from rankscope.lab import suites, trial
from rankscope.lab.scoring import work
from rankscope.lab.simulator import recording, scenarios
from rankscope.lab.simulator.faults import FAULTS
from rankscope.vocabulary import faults


def lines(capsys):
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_list_names_every_fault_of_the_contract_and_every_scenario(capsys):
    assert main(["lab", "list", "--json"]) == 0
    rows = lines(capsys)
    listed = {row["fault"]: row for row in rows if row["type"] == "fault"}
    assert set(listed) == set(faults.catalogue()) - {faults.UNKNOWN}
    assert {fault.id for fault in FAULTS.values()} - {faults.UNKNOWN} == {
        name for name, row in listed.items() if row["simulated"]
    }
    assert set(real_job.FAULTS) == {name for name, row in listed.items() if row["real"]}
    named = [row["name"] for row in rows if row["type"] == "scenario"]
    assert named == list(scenarios.catalogue())


def test_list_for_people_says_how_a_fault_can_be_injected(capsys):
    assert main(["lab", "list"]) == 0
    out = capsys.readouterr().out
    assert "software.crash               simulated, real" in out
    assert "(real: exception, early-exit, segfault, kill-signal)" in out
    assert "NaN from data (real: nan-samples)" in out  # the only one it has
    assert "--mechanism evaluation, no fault" in out
    assert "Scenarios" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--real", "--mechanism", "no-such"], "--mechanism: one of busy-neighbours"),
        (["--mechanism", "segfault"], "--mechanism is for --real"),
        (
            ["--real", "--fault", "software.crash", "--mechanism", "worker-leak"],
            "software.crash is injected by exception, early-exit, segfault, kill-signal, not by",
        ),
        (
            ["--real", "--fault", "software.crash", "--mechanism", "no-such"],
            "software.crash is injected by exception, early-exit, segfault, kill-signal, not by",
        ),
        (
            ["--real", "--fault", "segfault"],
            "segfault is a mechanism of software.crash: --real --mechanism segfault\n",
        ),
        (
            ["--fault", "evaluation"],
            "evaluation is a mechanism that is not a fault: --real --mechanism evaluation\n",
        ),
        (["--real", "--fault", "gpu.lost"], "this version cannot inject into a real job gpu.lost"),
    ],
)
def test_a_mechanism_that_does_not_fit_is_wrong_use(words, said, capsys):
    assert main(["lab", "run", *words]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert "rankscope demo" not in told


def test_run_records_and_prints_the_truth(tmp_path, capsys):
    out = tmp_path / "crash.jsonl"
    assert main(["lab", "run", "crash", "--out", str(out), "--seed", "4", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["truth"]["fault"] == "software.crash"
    assert result["truth"]["onset"] == "2026-03-02T08:01:20.000Z"
    assert all(json.loads(line) for line in out.read_text().splitlines())


def test_run_says_that_nothing_is_wrong_where_nothing_is(tmp_path, capsys):
    assert main(["lab", "run", "quiet", "--out", str(tmp_path / "q.jsonl.gz")]) == 0
    assert "truth: nothing is wrong" in capsys.readouterr().out


def test_an_unknown_scenario_is_wrong_use_and_gets_the_nearest(tmp_path, capsys):
    assert main(["lab", "run", "crsh", "--out", str(tmp_path / "x.jsonl")]) == 2
    assert "did you mean crash?" in capsys.readouterr().err


def test_a_scenario_that_there_is_not_is_named_before_its_file_is_asked_for(capsys):
    assert main(["lab", "run", "crsh"]) == 2
    assert "did you mean crash?" in capsys.readouterr().err


def test_ctrl_c_while_a_recording_is_written_leaves_no_file_and_says_so(
    tmp_path, monkeypatch, capsys
):
    def interrupted(_):
        yield "{}"
        raise KeyboardInterrupt

    monkeypatch.setattr(recording.SimulatedRecording, "lines", interrupted)
    out = tmp_path / "crash.jsonl.gz"
    assert main(["lab", "run", "crash", "--out", str(out)]) == 130
    assert f"stopped; {out} was not written\n" == capsys.readouterr().err
    assert main(["lab", "run", "--fault", "crash", "--ranks", "2", "--out", str(out)]) == 130
    assert f"stopped; {out} was not written\n" == capsys.readouterr().err
    assert [] == list(tmp_path.iterdir())


def test_a_file_that_cannot_be_written_is_named(tmp_path, capsys):
    out = tmp_path / "nowhere" / "x.jsonl"
    assert main(["lab", "run", "crash", "--out", str(out)]) == 1
    assert str(out) in capsys.readouterr().err


@pytest.fixture
def short(monkeypatch):
    """Cut a trial to two minutes, with the fault in the middle."""
    whole = trial.scenario

    def cut(chosen):
        made = whole(chosen)
        fault = {**(made.fault or {}), "onset": 60.0}
        return dataclasses.replace(made, seconds=120.0, fault=fault)

    monkeypatch.setattr(trial, "scenario", cut)


def test_a_simulated_fault_is_injected_and_found(short, tmp_path, capsys):
    out = tmp_path / "crash.jsonl.gz"
    words = ["lab", "run", "--fault", "software.crash", "--ranks", "4", "--out", str(out)]
    assert main([*words, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["truth"]["fault"] == "software.crash"
    assert result["found"]
    assert result["right_entity"]
    assert result["incidents"][0]["root_cause"]["hypotheses"]
    assert out.stat().st_size > 1000


def test_a_simulated_fault_for_people(short, capsys):
    assert main(["lab", "run", "--fault", "crash", "--ranks", "4"]) == 0
    out = capsys.readouterr().out
    assert "truth: software.crash at rank" in out
    assert "INCIDENT" in out
    assert "FOUND after" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--fault", "software.crsh"], "did you mean software.crash?"),
        (["--fault", "crash", "--ranks", "0"], "--ranks: at least 1"),
        (["--fault", "crash", "--seed", "-1"], "--seed: at least 0"),
        (["crash", "--seed", "-1"], "--seed: at least 0"),
        (["crash", "--out", "x.txt"], "--out: the name of a recording ends in .jsonl or"),
        (["--fault", "crash", "--out", "x"], "--out: the name of a recording ends in .jsonl or"),
        ([], "give either a scenario or --fault ID"),
        (["crash", "--fault", "software.crash"], "give either a scenario or --fault ID"),
        (["crash"], "--out FILE is needed"),
        (["crash", "--ranks", "4", "--out", "x"], "are for --fault"),
        (["--fault", "gpu.slow", "--real"], "cannot inject into a real job gpu.slow"),
        (["--fault", "software.crash", "--real", "--ranks", "8"], "has 4 ranks"),
        (["--fault", "software.crash", "--real", "--out", "x"], "for a simulated job"),
    ],
)
def test_wrong_use_of_run_is_named(words, message, capsys):
    assert main(["lab", "run", *words]) == 2
    assert message in capsys.readouterr().err


def test_a_real_fault_runs_as_the_demo_does(monkeypatch):
    asked = []

    def run(fault, mechanism, *, once, as_json):
        asked.append((fault, mechanism, once, as_json))
        return 0

    monkeypatch.setattr(real_job, "run", run)
    words = ["lab", "run", "--fault", "software.crash", "--real", "--ranks", "4", "--json"]
    assert main(words) == 0
    assert [("software.crash", None, True, True)] == asked


def test_the_suites_of_the_help_are_those_that_there_are():
    assert arguments.SUITES == suites.SUITES


@pytest.fixture
def two_cases(monkeypatch):
    """Cut the suite of tuning to a crash and a healthy case of a minute."""
    drawn = suites.draw(suites.suite("tuning"))
    by_step = sorted(drawn, key=lambda case: case.scenario.jobs[0].step_seconds)
    crash = next(case for case in by_step if case.kind == "crash")
    well = next(case for case in by_step if case.kind is None)
    fault = {"kind": "crash", "onset": 60.0}
    cases = [
        dataclasses.replace(
            crash, scenario=dataclasses.replace(crash.scenario, seconds=90.0, fault=fault)
        ),
        dataclasses.replace(well, scenario=dataclasses.replace(well.scenario, seconds=60.0)),
    ]
    monkeypatch.setattr(suites, "draw", lambda *_, **__: cases)


def score(tmp_path, *words):
    results = ["--results", str(tmp_path / "results")]
    return main(["lab", "score", "--jobs", "1", *results, *words])


def test_score_prints_the_result_writes_the_page_and_resumes(two_cases, tmp_path, capsys):
    docs = tmp_path / "docs"
    assert score(tmp_path, "--suite", "tuning", "--docs", str(docs)) == 0
    told = capsys.readouterr()
    assert "suite tuning (seed 7001): 2 cases" in told.out
    assert "2 of 2 cases" in told.err
    assert "software.crash" in (docs / "accuracy.md").read_text()
    assert score(tmp_path, "--suite", "tuning", "--json") == 0
    again = capsys.readouterr()
    assert "cases" not in again.err
    assert json.loads(again.out)["methods"]["rankscope"]["recall"] == 1.0


def test_a_case_that_raises_makes_the_exit_code_1(two_cases, tmp_path, monkeypatch, capsys):
    def broken(*_):
        raise ZeroDivisionError("broken")

    monkeypatch.setattr(recording, "simulate", broken)
    assert score(tmp_path, "--suite", "tuning", "--json") == 1
    told = capsys.readouterr()
    assert "ZeroDivisionError: broken" in told.err
    assert 2 == len(json.loads(told.out)["errors"])


def test_ctrl_c_says_how_to_go_on(two_cases, tmp_path, monkeypatch, capsys):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(work.ScoringWork, "run", interrupted)
    assert score(tmp_path, "--suite", "tuning") == 130
    assert "the same command goes on" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--suite", "publishd"], "did you mean published?"),
        (["--suite", "fresh"], "needs --seed N"),
        (["--suite", "tuning", "--seed", "4"], "has a seed of its own"),
        (["--suite", "tuning", "--only", "gpu.slwo"], "has no fault gpu.slwo"),
        (["--suite", "tuning", "--hours", "5"], "has a size of its own; --hours is for quiet"),
        (["--suite", "fresh", "--seed", "-5"], "--seed: at least 0"),
        (["--suite", "quiet", "--hours", "-2"], "--hours: a number of hours, more than 0"),
        (["--suite", "quiet", "--hours", "0"], "--hours: a number of hours, more than 0"),
        (["--suite", "quiet", "--hours", "inf"], "--hours: a number of hours, more than 0"),
        (["--suite", "quiet", "--hours", "1e-9"], "suite quiet has no case that these options"),
        (["--suite", "tuning", "--jobs", "-1"], "--jobs: at least 1"),
        (["--suite", "tuning", "--at-most", "5"], "--at-most is for --without"),
        (["--suite", "tuning", "--without", "all", "--at-most", "-5"], "--at-most: at least 1"),
        (["--suite", "tuning", "--within", "3"], "--within is for --compare"),
        (["--compare", "a.json", "b.json", "--within", "-1"], "--within: a number of points"),
        (["--compare", "a.json", "b.json", "--within", "nan"], "--within: a number of points"),
        (["--compare", "a.json", "b.json", "--only", "gpu.slow"], "--only is for --suite"),
        (["--recordings", "cases", "--no-baselines"], "--no-baselines is for --suite"),
    ],
)
def test_wrong_use_of_score_is_named_in_one_line(words, message, tmp_path, capsys):
    assert main(["lab", "score", "--results", str(tmp_path), *words]) == 2
    told = capsys.readouterr()
    assert message in told.err
    assert ("", 1) == (told.out, told.err.count("\n"))


def test_the_command_of_a_result_says_that_the_simple_methods_are_left_out(
    two_cases, tmp_path, capsys
):
    assert score(tmp_path, "--suite", "tuning", "--no-baselines", "--json") == 0
    result = json.loads(capsys.readouterr().out)
    assert "rankscope lab score --suite tuning --no-baselines" == result["command"]
    assert ["rankscope"] == list(result["methods"])


def test_compare_says_what_differs_by_more_than_so_many_points(two_cases, tmp_path, capsys):
    assert score(tmp_path, "--suite", "tuning", "--json") == 0
    result = json.loads(capsys.readouterr().out)
    one, other = tmp_path / "a.json", tmp_path / "b.json"
    one.write_text(json.dumps(result))
    result["methods"]["rankscope"]["precision"] = 0.9
    other.write_text(json.dumps(result))
    assert main(["lab", "score", "--compare", str(one), str(one)]) == 0
    assert "Comparison" in capsys.readouterr().out
    assert main(["lab", "score", "--compare", str(one), str(other), "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert ["precision"] == told["beyond"]
    assert -10.0 == told["points"]["precision"]
    assert {"suite": "tuning", "seed": 7001, "only": [], "cases": 2} == told["first"]


def test_compare_names_a_file_that_is_no_result(tmp_path, capsys):
    none = str(tmp_path / "none.json")
    assert main(["lab", "score", "--compare", none, none]) == 1
    assert none in capsys.readouterr().err


def test_what_the_simple_methods_need_is_said_before_the_cases_are_run(capsys, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert main(["lab", "score", "--suite", "tuning"]) == 2
    assert "rankscope[analysis]" in capsys.readouterr().err
