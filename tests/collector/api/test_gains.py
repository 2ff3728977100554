"""What causes took by steps as they would be without them: in reports, and by host."""

import pytest

from rankscope.collector.accounting.gains import EVERY_SECONDS, MOST_RANKS, RunningGains, by_host
from rankscope.collector.accounting.ledger import CostLedger
from rankscope.collector.windows.queries import JobSummary
from rankscope.vocabulary.answers.gains import SlowestDocument, SlowPlaceDocument
from rankscope.vocabulary.counterfactuals import (
    GpuHours,
    StepCounterfactual,
    StepTimeWithout,
    sum_of,
)
from rankscope.vocabulary.ids import Job
from rankscope.vocabulary.incidents import WeeklyLoss
from rankscope.vocabulary.times import WEEK_SECONDS, week_of

MONDAY = week_of(1_700_000_000.0)
HOUR = 3600.0


def measured(hours, *, error=0.1, basis="phases"):
    """Return what an incident says of steps without its cause: hours, give or take a share."""
    lost = GpuHours(hours, hours * (1 - error), hours * (1 + error))
    without = StepTimeWithout(1.0, 0.9, 1.1)
    return StepCounterfactual(1.5, without, hours, 2.0, basis, lost)


def rows_of(client, path, **params):
    """Return the items of an answer."""
    answer = client.get(f"/api/v1/{path}", params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()["items"]


def test_errors_of_incidents_that_were_measured_apart_balance_in_part():
    total = sum_of([GpuHours(3.0, 0.0, 6.0), GpuHours(4.0, 0.0, 8.0)])
    assert GpuHours(7.0, 2.0, 12.0) == total


def test_a_report_says_what_causes_took_by_week_and_fault(client, opened):
    opened(identity="a1", at=MONDAY + HOUR, measured=measured(3.0))
    opened(identity="a2", at=MONDAY + 2 * HOUR, measured=measured(4.0))
    opened(identity="a3", at=MONDAY + 3 * HOUR, fault="gpu.lost")
    lost, cpu = rows_of(client, "report", by="week,fault")
    assert [7.0, 6.5, 7.5] == [cpu[f"gpu_hours_gained{end}"] for end in ("", "_low", "_high")]
    assert [None] * 3 == [lost[f"gpu_hours_gained{end}"] for end in ("", "_low", "_high")]


def test_what_an_incident_took_is_divided_over_weeks_and_jobs_as_its_costs_are(client, opened):
    parts = (
        WeeklyLoss("run-1", MONDAY, 100.0),
        WeeklyLoss("run-1", MONDAY + WEEK_SECONDS, 200.0),
        WeeklyLoss("run-2", MONDAY + WEEK_SECONDS, 100.0),
    )
    opened(
        identity="a1",
        at=MONDAY + HOUR,
        jobs=("run-1", "run-2"),
        parts=parts,
        measured=measured(8.0),
    )
    assert [2.0, 6.0] == [row["gpu_hours_gained"] for row in rows_of(client, "report", by="week")]
    assert [6.0, 2.0] == [row["gpu_hours_gained"] for row in rows_of(client, "report", by="job")]


def test_the_store_keeps_what_a_document_says_of_steps_without_the_cause(opened, store):
    opened(identity="a1", at=MONDAY, measured=measured(3.0, basis="durations"))
    opened(identity="a2", at=MONDAY)
    first, second = CostLedger(store, keep_days=36500).rows(MONDAY + 60)
    assert first.measured is not None
    assert ("durations", 3.0) == (first.measured.basis, first.measured.hours.gpu_hours)
    assert second.measured is None


def test_hosts_are_listed_by_what_their_incidents_took_in_the_time_asked_for(client, opened):
    opened(identity="a1", at=MONDAY, host="gpu-1", measured=measured(1.0))
    opened(identity="a2", at=MONDAY + HOUR, host="gpu-2", measured=measured(4.0, basis="durations"))
    opened(identity="a3", at=MONDAY + 2 * HOUR, host="gpu-1", measured=measured(2.0))
    opened(identity="a4", at=MONDAY + 3 * HOUR, host="gpu-3")
    opened(identity="a5", at=MONDAY - HOUR, host="gpu-4", measured=measured(9.0))
    rows = rows_of(client, "gains", since=MONDAY, until=MONDAY + 4 * HOUR)
    assert [("gpu-2", 4.0), ("gpu-1", 3.0), ("gpu-3", None)] == [
        (row["host"], row["past"] and row["past"]["gpu_hours"]) for row in rows
    ]
    assert [["durations"], ["phases"], []] == [row["bases"] for row in rows]
    assert ["a3".ljust(20, "0"), "a1".ljust(20, "0")] == rows[1]["incidents"]


def test_an_incident_that_was_there_before_counts_by_its_time(opened, store):
    opened(kind="resolved", identity="a1", at=MONDAY, status="resolved", measured=measured(6.0))
    rows = CostLedger(store, keep_days=36500).rows(MONDAY + 60)
    (found,) = by_host(rows, {}, since=MONDAY + 40, until=MONDAY + 1000)
    assert found.past is not None
    assert found.past.gpu_hours == pytest.approx(2.0)
    assert [] == by_host(rows, {}, since=MONDAY + 60, until=MONDAY + 1000)


def test_a_time_that_ends_before_it_begins_is_refused(client):
    answer = client.get("/api/v1/gains", params={"since": MONDAY + 1, "until": MONDAY})
    assert 400 == answer.status_code


def test_a_host_that_holds_several_jobs_up_counts_in_each():
    hours = GpuHours(2.0, 1.0, 3.0)
    place = SlowPlaceDocument(
        rank=None, host="gpu-1", behind_seconds=0.1, without=None, an_hour=hours
    )
    alone = SlowPlaceDocument(
        rank=None, host="gpu-2", behind_seconds=0.1, without=None, an_hour=None
    )
    document = SlowestDocument(
        by="host", basis="phases", step_seconds=1.0, steps=9, slowest=[place, alone], without=[]
    )
    (found,) = by_host([], {"run-1": document, "run-2": document}, since=0.0, until=1.0)
    assert found.an_hour is not None
    assert ("gpu-1", 4.0, None) == (found.host, found.an_hour.gpu_hours, found.past)


class AskedPipelines:
    """Answers for a job with a document of its number of questions so far."""

    def __init__(self):
        self.asked = []

    def read(self, question):
        self.asked.append(question.args[0])
        return [
            SlowestDocument(
                by="host", basis=None, step_seconds=None, steps=len(self.asked), slowest=[],
                without=[],
            )
        ]  # fmt: skip


def running(job, ranks=8, hosts=("gpu-1", "gpu-2"), received=1000.0):
    """Return the summary of a job."""
    return JobSummary(Job(job), 0, None, 0.0, 0.0, received, ranks, hosts, ranks, 5, 1.0)


def test_running_jobs_are_compared_anew_only_after_a_while():
    line = AskedPipelines()
    gains = RunningGains(line)
    jobs = [running("run-1"), running("run-2", received=1.0), running("run-3", hosts=("gpu-1",))]
    assert ["run-1"] == list(gains.of(jobs, 1000.0))
    assert ["run-1"] == list(gains.of(jobs, 1000.0 + EVERY_SECONDS / 2))
    assert ["run-1"] == line.asked
    gains.of(jobs, 1000.0 + EVERY_SECONDS)
    assert ["run-1", "run-1"] == line.asked


def test_a_job_of_many_more_ranks_is_compared_anew_as_many_times_more_seldom():
    line = AskedPipelines()
    gains = RunningGains(line)
    for now in (1000.0, 1000.0 + 3 * EVERY_SECONDS, 1000.0 + 4 * EVERY_SECONDS):
        gains.of([running("run-1", 4 * MOST_RANKS, received=now)], now)
    assert ["run-1", "run-1"] == line.asked


def test_a_request_compares_few_ranks_anew_and_the_oldest_first():
    line = AskedPipelines()
    gains = RunningGains(line)
    jobs = [running("run-1", 2 * MOST_RANKS), running("run-2"), running("run-3")]
    assert ["run-1"] == list(gains.of(jobs, 1000.0))
    assert ["run-1", "run-2", "run-3"] == list(gains.of(jobs, 1001.0))
    assert ["run-1", "run-2", "run-3"] == line.asked
