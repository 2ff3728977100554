"""`explain` of a time range, `offenders` and `report`, against a running collector."""

import csv
import io
import json
import time
from typing import Any

import pytest

from rankscope.cli import asking
from rankscope.cli.main import main
from rankscope.collector.settings.collector import CollectorSettings
from rankscope.collector.store import IncidentDatabaseStore
from rankscope.collector.store.remedy_changes import PlannedRemedy, RemedyBudget
from rankscope.collector.store.usage import AttemptUsage, by_week


def act(store, at):
    """Record an action that was carried out and helped."""
    new = PlannedRemedy(
        id="ab12", incident="a1", job="run-ann", attempt=0, fault="gpu.lost",
        entity={"type": "gpu", "id": "GPU-1", "host": "gpu-1", "ranks": []}, host="gpu-1",
        action="exclude_node", executor="slurm", mode="act", probability=0.98, due_at=at,
        text="",
    )  # fmt: skip
    store.plan_remedy(new, at, settle_seconds=0.0)
    budget = RemedyBudget(nodes_per_hour=1, nodes_out=1, restarts_per_job=1)
    store.start_remedy("ab12", owner="x", seen={}, measured={}, budget=budget, now=at)
    store.finish_remedy("ab12", owner="x", state="done", reason="drained", now=at)
    store.settle_remedy("ab12", outcome="recovered", after=1.5, text="", now=at)


@pytest.fixture(scope="module")
def collector(tmp_path_factory, serving):
    """Return the address of a collector that knows what two users used."""
    settings = CollectorSettings.model_validate(
        {"data_dir": tmp_path_factory.mktemp("data"), "http": {"listen": "127.0.0.1:0"}}
    )
    store = IncidentDatabaseStore(settings.store_url)
    at = time.time() - 86_400  # what is older than retention would be trimmed at once
    for user, hours in (("ann", 3), ("bob", 1)):
        row = AttemptUsage(f"run-{user}", 0, 0, user, 8, at, at + hours * 3600)
        store.use(list(by_week(row)))
    act(store, at)
    store.close()
    with serving(settings) as address:
        yield address


def test_a_report_shows_each_users_hours(collector, capsys):
    assert main(["report", "--by", "user", "--url", collector]) == 0
    head, ann, bob, *_ = capsys.readouterr().out.splitlines()
    assert head.split()[:3] == ["USER", "USED", "LOST"]
    assert (ann.split()[:2], bob.split()[:2]) == (["ann", "24.00"], ["bob", "8.00"])


def test_a_report_is_the_csv_of_the_api(collector, capsys):
    assert main(["report", "--csv", "--by", "user", "--user", "a*", "--url", collector]) == 0
    (row,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert (row["user"], row["gpu_hours_used"], row["goodput"]) == ("ann", "24", "1")


def test_a_report_by_something_else_says_what_there_is(collector, capsys):
    assert main(["report", "--by", "colour", "--url", collector]) == 1
    assert "week, user, job, fault" in capsys.readouterr().err


def test_without_offenders_it_says_so(collector, capsys):
    assert main(["offenders", "--url", collector]) == 0
    assert capsys.readouterr().out == "nothing was named so often\n"
    assert main(["offenders", "--json", "--url", collector]) == 0
    assert capsys.readouterr().out == ""


def test_a_time_range_of_an_unknown_job_is_an_error(collector, capsys):
    words = ["explain", "--job", "x", "--from", str(time.time() - 60), "--to", str(time.time())]
    assert main([*words, "--url", collector]) == 1
    assert "no telemetry of job 'x'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [[], ["--job", "x"], ["id", "--job", "x", "--from", "1", "--to", "2"], ["id", "--to", "2"]],
)
def test_explaining_half_a_question_is_wrong_use(words, capsys):
    assert main(["explain", *words]) == 2
    assert "--job, --from and --to" in capsys.readouterr().err


def test_a_digest_line_is_made_for_a_token_from_standard_input(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO("a-token-of-ours-0123\n"))
    assert main(["tokens", "digest", "--role", "admin", "--days", "30", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert list(shown) == ["entry"]
    assert shown["entry"]["expires_at"].endswith("Z")


def test_a_report_of_actions_counts_what_helped(collector, capsys):
    assert main(["report", "--actions", "--url", collector]) == 0
    head, row, _ = capsys.readouterr().out.splitlines()
    assert head.split()[:5] == ["CAUSE", "EXECUTOR", "MODE", "TAKEN", "RIGHT"]
    assert row.split()[:6] == ["gpu.lost", "slurm", "act", "1", "1", "0"]
    assert main(["report", "--actions", "--json", "--url", collector]) == 0
    assert json.loads(capsys.readouterr().out)["right"] == 1
    assert main(["report", "--actions", "--job", "nobody", "--url", collector]) == 0
    assert capsys.readouterr().out == "no action was taken, and none planned\n"


HOURS = {"gpu_hours": 12.5, "low": 11.0, "high": 14.0}


def answering(monkeypatch, answer):
    """Let every collector answer so; return the questions that it got."""
    asked = []

    def get(_client, *path, **query):
        asked.append((path, query))
        return answer

    monkeypatch.setattr(asking.CollectorClient, "get", get)
    return asked


def test_hosts_are_reported_by_what_their_repair_would_bring(monkeypatch, capsys):
    row = {
        "host": "gpu-12", "incidents": ["a1"], "past": HOURS, "bases": ["phases"],
        "now": [{"job": "run-ann", "an_hour": HOURS}], "an_hour": HOURS,
    }  # fmt: skip
    bare = {**row, "host": "gpu-13", "past": None, "bases": [], "now": [], "an_hour": None}
    asked = answering(monkeypatch, {"items": [row, bare], "next_cursor": None})
    assert main(["report", "--hosts", "--since", "1700000000"]) == 0
    head, first, second, *_ = capsys.readouterr().out.splitlines()
    assert head.split()[:2] == ["HOST", "GPU-HOURS"]
    assert first.split("  ")[:2] == ["gpu-12", "12.50 (11.00 - 14.00)"]
    assert second.split()[:4] == ["gpu-13", "-", "-", "1"]
    wanted = {"since": "1700000000", "until": None, "limit": 200, "cursor": None}
    assert asked == [(("gains",), wanted)]


def test_a_job_is_reported_without_its_slowest_hosts(monkeypatch, capsys):
    without = {"step_seconds": 1.01, "low": 1.0, "high": 1.02}
    answer = {
        "by": "host", "basis": "phases", "step_seconds": 1.5, "steps": 64,
        "slowest": [{"rank": None, "host": "gpu-12"}, {"rank": None, "host": "gpu-13"}],
        "without": [{"removed": 2, "without": without, "an_hour": HOURS}],
    }  # fmt: skip
    asked = answering(monkeypatch, answer)
    assert main(["report", "--slowest", "host", "--job", "run-ann"]) == 0
    _, now, two, last = capsys.readouterr().out.splitlines()
    assert now.split() == ["-", "1.5", "s"]
    assert two.split("  ")[:2] == ["gpu-12, gpu-13", "1.01 s"]
    assert "12.50 (11.00 - 14.00)" in two
    assert last.startswith("of the newest 64 steps")
    assert asked == [(("jobs", "run-ann", "slowest"), {"by": "host"})]


def test_the_slowest_of_all_jobs_together_are_refused(capsys):
    assert main(["report", "--slowest", "rank"]) == 2
    assert "needs --job" in capsys.readouterr().err


def test_a_job_that_reports_no_parts_of_steps_has_no_slowest(monkeypatch, capsys):
    answer: dict[str, Any] = {
        "by": "rank",
        "basis": None,
        "step_seconds": None,
        "steps": 0,
        "slowest": [],
        "without": [],
    }
    answering(monkeypatch, answer)
    assert main(["report", "--slowest", "rank", "--job", "run-ann"]) == 0
    assert capsys.readouterr().out.startswith("nothing says")
