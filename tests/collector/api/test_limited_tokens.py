"""A token that is limited to some jobs is told of no other: every endpoint of the description."""

import pytest
from tests.waiting import until

from rankscope.collector.store.usage import AttemptUsage
from rankscope.formats.otlp import encode
from rankscope.vocabulary.samples import Sample, TelemetryResource, attributes

AT = 1_700_000_000.0


@pytest.fixture
def client(new_client, protected):
    return new_client(**protected)


@pytest.fixture
def paths(client, bearer, opened, send_steps, store) -> list[str]:
    """Return every path that is read, about a job that a limited token may not see."""
    send_steps(client, "secret-job", headers=bearer("admin"))
    theirs = opened(jobs=("secret-job",), summary="secret-job is slow")
    store.use([AttemptUsage("secret-job", 0, 1_699_833_600, "secret-job-user", 8, AT, AT + 60)])
    client.post(f"/api/v1/incidents/{theirs}/ack", headers=bearer("admin"), json={"note": "n"})
    names = {"{incident}": theirs, "{job}": "secret-job", "{webhook}": "w"}
    found = []
    for path, operations in client.get("/openapi.json").json()["paths"].items():
        if "get" not in operations or not path.startswith("/api/v1") or path == "/api/v1/events":
            continue
        for name, value in names.items():
            path = path.replace(name, value)
        found.append(path)
    return found


def _asked(client, path, headers):
    params = {}
    if path.endswith(("/topology", "/root-cause")) and "incidents" not in path:
        params = {"job": "secret-job"}
        if path.endswith("/root-cause"):
            params |= {"from": f"{AT}", "to": f"{AT + 1}"}
    if path.endswith(("/series", "/distribution")):
        params = {"metric": "training.step"}
    return client.get(path, headers=headers, params=params)


def test_nothing_is_said_of_a_job_that_the_token_is_not_for(client, bearer, paths):
    assert len(paths) > 20
    for path in paths:
        answer = _asked(client, path, bearer("run-1"))
        body = answer.text.replace("job 'secret-job'", "")  # it repeats what was asked for
        assert "secret-job" not in body, path
        if "secret-job" in path or "incidents/" in path:
            assert answer.status_code in (403, 404), path


def test_who_may_see_the_job_does_see_it(client, bearer, paths):
    """So that the test above would fail, were nothing limited."""
    shown = [path for path in paths if "secret-job" in _asked(client, path, bearer("admin")).text]
    lists = {"jobs", "incidents", "stats", "report", "report.csv", "topology"}
    assert {f"/api/v1/{name}" for name in lists} <= set(shown)


def test_of_a_host_that_jobs_share_a_token_gets_no_reading_of_anothers_job(client, bearer, clock):
    """What a host reports of itself is shared; a rank's memory, and its device, are its job's."""
    groups = [
        (
            TelemetryResource(host="gpu-1", job=job, service="rankscope"),
            [
                Sample(
                    "training.rank.info", 1, clock.at - 2,
                    attributes({"rank": 0, "local_rank": 0, "world_size": 1, "hw.id": device}),
                ),
                Sample("process.memory.usage", 7e9, clock.at - 1, attributes({"rank": 0})),
                Sample("hw.temperature", 60.0, clock.at - 1, attributes({"hw.id": device})),
            ],
        )
        for job, device in (("run-1", "GPU-mine"), ("secret-job", "GPU-theirs"))
    ]  # fmt: skip
    answer = client.post(
        "/v1/metrics",
        content=encode.metrics_request(groups),
        headers={"content-type": "application/x-protobuf", **bearer("admin")},
    )
    assert 200 == answer.status_code, answer.text

    def devices(role):
        answers = [
            client.get("/api/v1/hosts/gpu-1", headers=bearer(role)),
            *(
                client.get(f"/api/v1/hosts/gpu-1/series?metric={metric}", headers=bearer(role))
                for metric in ("process.memory.usage", "hw.temperature")
            ),
        ]
        return [
            [name for name in ("GPU-mine", "GPU-theirs") if name in one.text] for one in answers
        ]

    both = ["GPU-mine", "GPU-theirs"]
    until(lambda: devices("admin"), "both jobs", lambda found: found == [both] * 3)
    assert [["GPU-mine"]] * 3 == devices("run-1")
