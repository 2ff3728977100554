"""/observations: what was seen and is no incident, as each token may see it."""

from functools import partial

import pytest

from rankscope.alerts.affected_job import JobHealth
from rankscope.alerts.causes.engine import explanations
from rankscope.collector.cluster import lists
from rankscope.vocabulary import entities
from rankscope.vocabulary.findings import Finding
from rankscope.vocabulary.ids import Job
from rankscope.vocabulary.times import rfc3339
from rankscope.vocabulary.topology import JobTopology, RankPlacement

AT = 1_700_000_000.0
PATH = "/api/v1/observations"


@pytest.fixture
def services(new_services, protected):
    return new_services(**protected)


@pytest.fixture
def seen(services):
    """Return a function that has memory found to grow on a host, without an end, at a second."""

    def find(now, job="run-1", host="gpu-1", *, onset=None):
        topology = JobTopology(
            Job(job), placements=[RankPlacement(0, host, local_rank=0, pid=101, hw_id="GPU-0")]
        )
        finding = Finding(
            kind="process.memory_grows",
            job=Job(job),
            attempt=0,
            entity=entities.process(host, 101, (0,)),
            onset=(onset, onset),
            magnitude=604_800.0,
            score=0.5,
            detector="host_leak",
            signal="process.memory.private",
            window=(onset, now),
            observed=1.0,
            expected=0.0,
            text="private memory grows",
        ) if onset is not None else None  # fmt: skip
        services.stages.read(
            lambda line: line.tracker.update(
                Job(job),
                0,
                [] if finding is None else [finding],
                partial(explanations, topology=topology, observed=frozenset()),
                JobHealth(1, 1, None, 0, now - 1.0, 0.0),
                now,
            )
        )

    return find


@pytest.fixture
def listed(services, client_of, bearer):
    """Return a function that lists observations with a role's token."""
    client = client_of(services)

    def ask(role="read", **query):
        answer = client.get(PATH, params=query, headers=bearer(role))
        assert 200 == answer.status_code, answer.text
        return answer.json()

    return ask


def test_an_observation_says_what_was_seen_where_and_until_when(seen, listed):
    seen(AT + 20, onset=AT)
    document = {
        "at": rfc3339(AT),
        "job": "run-1",
        "kind": "process.memory_grows",
        "entity": {"type": "process", "id": "gpu-1:101", "host": "gpu-1", "ranks": [0]},
        "text": "private memory grows",
        "magnitude": 604_800.0,
        "until": None,
    }
    assert {"items": [document], "next_cursor": None} == listed()
    seen(AT + 60)
    assert [rfc3339(AT + 20)] == [row["until"] for row in listed()["items"]]


def test_it_is_no_incident(seen, services, client_of, bearer):
    seen(AT + 20, onset=AT)
    assert (
        [] == client_of(services).get("/api/v1/incidents", headers=bearer("read")).json()["items"]
    )


def test_observations_are_found_by_job_host_and_time(seen, listed):
    seen(AT + 20, "run-1", "gpu-1", onset=AT)
    seen(AT + 60, "run-1")
    seen(AT + 120, "other", "gpu-2", onset=AT + 100)

    def jobs(**query):
        return [row["job"] for row in listed(**query)["items"]]

    assert ["other", "run-1"] == jobs()
    assert ["run-1"] == jobs(job="run-*")
    assert ["other"] == jobs(host="gpu-2")
    assert ["other", "run-1"] == jobs(since=AT + 20)
    assert ["other"] == jobs(since=AT + 21)


def test_pages_follow_one_another(seen, listed):
    for number in range(3):
        seen(AT + 20, f"run-{number}", onset=AT + number)
    first = listed(limit=2)
    rest = listed(limit=2, cursor=first["next_cursor"])
    assert ["run-2", "run-1", "run-0"] == [row["job"] for row in first["items"] + rest["items"]]
    assert rest["next_cursor"] is None


def test_a_token_that_is_limited_to_jobs_sees_theirs(seen, listed):
    seen(AT + 20, "run-1", onset=AT)
    seen(AT + 20, "secret-job", onset=AT)
    assert ["run-1"] == [row["job"] for row in listed("run-1")["items"]]
    assert 2 == len(listed("admin")["items"])


def test_several_collectors_lists_are_one_the_newest_first():
    rows = [{"at": rfc3339(AT + at), "job": job} for at, job in ((0, "a"), (2, "b"), (2, "a"))]
    parts = [{"items": rows[:1]}, {"items": rows[1:]}]
    assert {"items": [rows[2], rows[1], rows[0]], "next_cursor": None} == lists.observations(parts)
