"""Statistics and show-back reports: by week, user, job and fault, as JSON and CSV."""

import csv
import io

import pytest
from tests.examples import told

from rankscope.collector.store.usage import AttemptUsage, by_week, through_restarts
from rankscope.vocabulary.incidents import WeeklyLoss
from rankscope.vocabulary.times import week_of

AT = 1_700_000_000.0  # in the ISO week 2023-W46
MONDAY = 1_699_833_600


@pytest.fixture
def used(store):
    """Return a function that keeps that a job used GPU hours."""

    def keep(job, hours, user="", attempt=0, at=AT):
        row = AttemptUsage(job, attempt, 0, user, 1, at, at + hours * 3600)
        store.use(list(by_week(row)))

    return keep


def _rows(client, **params):
    answer = client.get("/api/v1/report", params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()["items"]


def test_weeks_begin_on_mondays():
    assert week_of(AT) == MONDAY
    assert week_of(MONDAY) == MONDAY
    assert week_of(MONDAY - 1) == MONDAY - 7 * 86_400


def test_use_over_a_monday_counts_in_both_weeks(client, used):
    used("run-1", 4, at=MONDAY - 3600.0)
    rows = _rows(client, by="week")
    assert [(row["week"], row["gpu_hours_used"]) for row in rows] == [
        ("2023-W45", 1.0),
        ("2023-W46", 3.0),
    ]


def test_what_is_kept_twice_counts_once(client, used):
    used("run-1", 2, user="ann")
    used("run-1", 3, user="ann")
    assert _rows(client, by="user")[0]["gpu_hours_used"] == 3.0


def test_users_are_charged_what_their_jobs_used_and_lost(client, opened, used):
    used("run-1", 10, user="ann")
    used("run-2", 10, user="bob")
    opened(jobs=("run-1",), lost=3600.0)
    ann, bob = _rows(client, by="user")
    assert (ann["user"], ann["gpu_hours_used"], ann["gpu_hours_lost"]) == ("ann", 10.0, 1.0)
    assert (ann["goodput"], ann["incidents"]) == (0.9, 1)
    assert (bob["user"], bob["gpu_hours_lost"], bob["goodput"]) == ("bob", 0.0, 1.0)


def test_an_incident_of_two_jobs_counts_once_and_costs_each_its_part(client, opened, used):
    used("run-1", 10, user="ann")
    used("run-2", 10, user="bob")
    opened(
        jobs=("run-1", "run-2"), lost=3.0 * 3600, at=AT,
        parts=(WeeklyLoss("run-1", MONDAY, 3600.0), WeeklyLoss("run-2", MONDAY, 7200.0)),
    )  # fmt: skip
    ann, bob = _rows(client, by="user")
    assert [(row["gpu_hours_lost"], row["incidents"]) for row in (ann, bob)] == [(1.0, 1), (2.0, 0)]
    assert (ann["goodput"], bob["goodput"]) == (0.9, 0.8)
    assert sum(row["gpu_hours_lost"] for row in _rows(client, by="fault")) == 3.0


def test_what_an_incident_took_over_a_monday_counts_in_both_weeks(client, opened, used):
    """So no week loses more than it used."""
    used("run-1", 4, at=MONDAY - 3600.0)
    opened(
        at=MONDAY - 3600.0, lost=4 * 3600.0, updated_at=MONDAY + 3 * 3600.0,
        parts=(
            WeeklyLoss("run-1", MONDAY - 7 * 86_400, 3600.0),
            WeeklyLoss("run-1", MONDAY, 3 * 3600.0),
        ),
    )  # fmt: skip
    rows = _rows(client, by="week")
    assert [(row["gpu_hours_used"], row["gpu_hours_lost"]) for row in rows] == [(1, 1), (3, 3)]


def test_a_job_holds_its_gpus_through_a_restart_and_no_second_twice():
    def attempt(number, begun, ended):
        return AttemptUsage("run-1", number, MONDAY, "", 4, AT + begun, AT + ended)

    rows = through_restarts(
        [attempt(0, 0, 100), attempt(1, 250, 400), attempt(2, 390, 500), attempt(3, 900, 950)]
    )
    assert [(row.first_at - AT, row.last_at - AT) for row in rows] == [
        (0, 250),
        (250, 390),
        (390, 500),
        (900, 950),
    ]


def test_settings_give_the_user_where_telemetry_gives_none(new_client, opened, used):
    client = new_client(users=[{"jobs": "run-*", "user": "team"}])
    used("run-1", 1)
    opened(jobs=("run-2",), identity="2")
    assert [row["user"] for row in _rows(client, by="user")] == ["team"]


def test_by_fault_nothing_is_used_and_the_costliest_is_named(client, opened, used):
    used("run-1", 1)
    opened(lost=60.0)
    (row,) = _rows(client, by="fault")
    assert (row["gpu_hours_used"], row["goodput"]) == (None, None)
    assert row["fault"] == row["costliest_fault"]


def test_stats_say_the_same_by_each_key(client, opened, used):
    used("run-1", 10, user="ann")
    opened(jobs=("run-1",), lost=3600.0)
    stats = client.get("/api/v1/stats").json()
    assert stats["by_user"] == _rows(client, by="user")
    assert stats["by_week"] == _rows(client, by="week")
    assert stats["by_job"] == _rows(client, by="job")
    assert stats["by_fault"] == _rows(client, by="fault")
    assert client.get("/api/v1/stats", params={"user": "bob"}).json()["by_fault"] == []


def test_a_report_is_csv_that_no_spreadsheet_takes_for_formulas(client, used):
    used("=cmd()", 1, user="ann")
    answer = client.get("/api/v1/report.csv", params={"by": "user,job"})
    assert answer.headers["content-type"].startswith("text/csv")
    (row,) = csv.DictReader(io.StringIO(answer.text))
    assert (row["user"], row["job"], row["gpu_hours_used"]) == ("ann", "'=cmd()", "1")


def test_a_report_comes_in_pages(client, used):
    for number in range(5):
        used(f"run-{number}", 1)
    first = client.get("/api/v1/report", params={"by": "job", "limit": 3}).json()
    rest = client.get(
        "/api/v1/report", params={"by": "job", "limit": 3, "cursor": first["next_cursor"]}
    ).json()
    assert [row["job"] for row in first["items"] + rest["items"]] == [
        f"run-{number}" for number in range(5)
    ]
    assert rest["next_cursor"] is None


def test_what_nothing_can_be_added_up_by_is_400(client):
    for by in ["", "week,week", "colour", "week,"]:
        with told(by=by):
            answer = client.get("/api/v1/report", params={"by": by})
            assert (answer.status_code, answer.json()["parameter"]) == (400, "by")


def test_a_limited_token_is_told_of_its_own_jobs_only(new_client, protected, bearer, used, opened):
    client = new_client(**protected)
    used("run-1", 1, user="ann")
    used("other", 1, user="bob")
    opened(jobs=("other",))
    for path in (
        "report?by=user",
        "stats",
        "report.csv",
        "offenders?at_least=1",
    ):
        text = client.get(f"/api/v1/{path}", headers=bearer("run-1")).text
        assert "bob" not in text
        assert "other" not in text
