"""All cases of a suite: kept as they come, resumed, and nothing lost."""

import dataclasses
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.waiting import until

from rankscope.lab import suites
from rankscope.lab.scoring import results, running, work
from rankscope.lab.simulator import recording


@pytest.fixture(scope="module")
def cases():
    drawn = suites.draw(suites.suite("tuning"))[:4]
    return [
        dataclasses.replace(case, scenario=dataclasses.replace(case.scenario, seconds=20.0))
        for case in drawn
    ]


@pytest.fixture
def ran(monkeypatch):
    """Cases that were really run, by name; running one costs nothing here."""
    names = []

    def run(case, *, key, with_baselines):
        names.append((case.name, with_baselines))
        return dataclasses.replace(results.empty(case, key), found={"rankscope": ()})

    monkeypatch.setattr(running, "run", run)
    return names


def silent(*_):
    pass


def test_results_come_in_the_order_of_the_cases_and_are_kept(tmp_path, cases, ran):
    file = tmp_path / "tuning.jsonl"
    rows = work.ScoringWork(cases, jobs=1, file=file).run(silent)
    assert [case.name for case in cases] == [row.case["name"] for row in rows]
    assert {row.key for row in rows} == set(results.read(file))


def test_a_second_run_goes_on_where_the_first_ended(tmp_path, cases, ran):
    file = tmp_path / "tuning.jsonl"
    work.ScoringWork(cases[:2], jobs=1, file=file).run(silent)
    told = []
    rows = work.ScoringWork(cases, jobs=1, file=file).run(lambda *args: told.append(args[:2]))
    assert 4 == len(rows)
    assert [case.name for case in cases] == [name for name, _ in ran]
    assert [(3, 4), (4, 4)] == told


def test_restart_forgets(tmp_path, cases, ran):
    file = tmp_path / "tuning.jsonl"
    work.ScoringWork(cases, jobs=1, file=file).run(silent)
    work.ScoringWork(cases, jobs=1, file=file, restart=True).run(silent)
    assert 8 == len(ran)


def test_other_code_runs_everything_again(tmp_path, cases, ran, monkeypatch):
    file = tmp_path / "tuning.jsonl"
    work.ScoringWork(cases, jobs=1, file=file).run(silent)
    monkeypatch.setattr(running, "code_version", lambda: "other")
    work.ScoringWork(cases, jobs=1, file=file).run(silent)
    assert 8 == len(ran)


def test_a_case_that_raised_is_kept_and_run_again_next_time(tmp_path, cases, monkeypatch):
    file = tmp_path / "tuning.jsonl"

    def broken(*_):
        raise ZeroDivisionError

    with monkeypatch.context() as patched:
        patched.setattr(recording, "simulate", broken)
        rows = work.ScoringWork(cases[:1], jobs=1, file=file, with_baselines=False).run(silent)
    assert "ZeroDivisionError" in rows[0].error
    assert "ZeroDivisionError" in next(iter(results.read(file).values())).error
    rows = work.ScoringWork(cases[:1], jobs=1, file=file, with_baselines=False).run(silent)
    assert "" == rows[0].error


def test_an_interrupted_run_keeps_what_was_done(tmp_path, cases, ran):
    file = tmp_path / "tuning.jsonl"

    def interrupted(done, *_):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work.ScoringWork(cases, jobs=1, file=file).run(interrupted)
    assert 2 == len(results.read(file))


def dies(case, *, key):
    """End the worker process for the second case, as the kernel does where memory is short."""
    if case.name.endswith("-1"):
        os.kill(os.getpid(), signal.SIGKILL)
    return results.empty(case, key)


@pytest.mark.timeout(300)
def test_a_worker_that_dies_costs_its_case_only(cases):
    left = [(case.name, case) for case in cases]
    rows = {row.key: row.error for row in work.parallel(dies, left, jobs=2)}
    assert {case.name for case in cases} == set(rows)
    bad = [case.name for case in cases if case.name.endswith("-1")]
    assert bad == [name for name, error in rows.items() if error]
    assert all("worker process ended" in rows[name] for name in bad)


PARENT = """
import os, sys, time
from pathlib import Path
from rankscope.lab.scoring import work

def never_ends(case, *, key):
    Path(sys.argv[1], str(os.getpid())).touch()
    time.sleep(3600)

if __name__ == "__main__":
    list(work.parallel(never_ends, [("one", None), ("two", None)], jobs=2))
"""


def running_process(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "number", [pytest.param(signal.SIGTERM, marks=pytest.mark.long), signal.SIGKILL]
)
def test_workers_end_with_a_parent_that_is_ended(tmp_path, number):
    script, seen = tmp_path / "parent.py", tmp_path / "workers"
    script.write_text(PARENT, encoding="utf-8")
    seen.mkdir()
    parent = subprocess.Popen([sys.executable, script, seen])
    workers = until(lambda: list(seen.iterdir()), "two workers", lambda found: len(found) == 2)
    parent.send_signal(number)
    assert -number == parent.wait()
    pids = [int(row.name) for row in workers]
    until(lambda: [pid for pid in pids if running_process(pid)], "no worker", lambda left: not left)


@pytest.mark.long
@pytest.mark.timeout(300)
def test_two_processes_give_what_one_gives(tmp_path, cases):
    one, two = (
        work.ScoringWork(
            cases, jobs=jobs, file=tmp_path / f"{jobs}.jsonl", with_baselines=False
        ).run(silent)
        for jobs in (1, 2)
    )
    assert [row.found for row in one] == [row.found for row in two]
