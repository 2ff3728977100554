"""Jobs, ranks, series and topology, from telemetry that was sent over HTTP."""

import json
import math
from urllib.parse import quote

from tests.examples import told
from tests.waiting import until

from rankscope.collector.windows import queries
from rankscope.formats.otlp import encode
from rankscope.vocabulary.samples import Event, TelemetryResource

ODD = ["team/a b", "50%", "a%2Fb", "\u00fc\U0001f525", "a?b#c", "..", "+", "'\"\\"]


def test_a_name_cut_in_the_middle_of_a_character_does_not_cost_others_their_answers(
    client, send_steps
):
    """JSON can say half of a surrogate pair; UTF-8, in which all is answered, cannot."""
    send_steps(client)
    job = {"key": "rankscope.job.id", "value": {"stringValue": "cut"}}
    point = {"timeUnixNano": f"{1_700_000_000 * 10**9}", "asDouble": 1, "attributes": [
        {"key": "rank", "value": {"intValue": "0"}}]}  # fmt: skip
    metric = {"name": "training.step", "gauge": {"dataPoints": [point]}}
    body = {"resourceMetrics": [
        {"resource": {"attributes": [job]}, "scopeMetrics": [{"metrics": [metric]}]}]}  # fmt: skip
    answer = client.post(
        "/v1/metrics",
        content=json.dumps(body).replace('"cut"', '"cut\\ud83d"'),
        headers={"content-type": "application/json"},
    )
    assert 200 == answer.status_code, answer.text
    named = ["cut\N{REPLACEMENT CHARACTER}", "run-1"]

    def jobs():
        found = client.get("/api/v1/jobs")
        assert 200 == found.status_code
        return [row["job"] for row in found.json()["items"]]

    until(jobs, "both jobs", lambda found: found == named)
    assert 200 == client.get("/metrics").status_code


def test_a_job_that_reports_is_listed_with_what_is_known(client, send_steps):
    send_steps(client)
    (job,) = client.get("/api/v1/jobs").json()["items"]
    assert job == client.get("/api/v1/jobs/run-1").json()
    assert job == {
        "job": "run-1",
        "status": "running",
        "attempt": 0,
        "cluster": "c1",
        "first_at": job["first_at"],
        "last_at": "2023-11-14T22:13:19.750Z",
        "world_size": 2,
        "hosts": ["gpu-1", "gpu-2"],
        "ranks": 2,
        "last_step": 4,
        "step_seconds": 1.0,
        "goodput": 1.0,
        "incidents": 0,
        "user": None,
    }


def test_a_job_of_which_only_an_incident_is_left_is_listed_with_nulls(client, opened):
    opened(jobs=("old",))
    (job,) = client.get("/api/v1/jobs").json()["items"]
    assert (job["job"], job["incidents"], job["last_at"], job["goodput"]) == ("old", 1, None, None)
    assert client.get("/api/v1/jobs/old/ranks").json() == {"items": [], "next_cursor": None}


def test_an_odd_job_id_is_found_under_its_percent_encoded_name(client, send_steps, opened):
    for number, job in enumerate(ODD):
        with told(job=job):
            send_steps(client, job)
            opened(identity=str(number), jobs=(job,))
            # A client may tidy `..` away, encoded or not: dots are encoded here by hand.
            name = quote(job, safe="").replace(".", "%2E")
            assert client.get(f"/api/v1/jobs/{name}").json()["job"] == job
            assert len(client.get(f"/api/v1/jobs/{name}/ranks").json()["items"]) == 2
            asked = {"metric": "training.step.duration"}
            series = client.get(f"/api/v1/jobs/{name}/series", params=asked)
            assert len(series.json()["series"]) == 2
            assert client.get("/api/v1/topology", params={"job": job}).json()["nodes"]
            assert len(client.get("/api/v1/incidents", params={"job": job}).json()["items"]) == 1


def test_ranks_are_placed(client, send_steps):
    send_steps(client)
    first, second = client.get("/api/v1/jobs/run-1/ranks").json()["items"]
    assert first == {
        "rank": 0,
        "local_rank": 0,
        "host": "gpu-1",
        "pid": 100,
        "hw_id": "GPU-0",
        "last_step": 4,
        "progress_age": None,
        "attempt": 0,
    }
    assert (second["rank"], second["host"]) == (1, "gpu-2")


def test_a_series_has_its_unit_and_times_as_people_write_them(client, send_steps):
    send_steps(client)
    answer = client.get(
        "/api/v1/jobs/run-1/series", params={"metric": "training.step.duration", "rank": 1}
    ).json()
    assert (answer["metric"], answer["unit"], answer["every"]) == ("training.step.duration", "s", 1)
    (series,) = answer["series"]
    assert series["rank"] == 1
    assert series["points"][0] == ["2023-11-14T22:13:15.750Z", 1.0]
    assert len(series["points"]) == 5


def test_a_stretch_is_cut_out_of_a_series(client, send_steps):
    send_steps(client)
    answer = client.get(
        "/api/v1/jobs/run-1/series",
        params={
            "metric": "training.step.duration",
            "from": "2023-11-14T22:13:17Z",
            "to": "1699999998.75",
        },
    ).json()
    times = ["2023-11-14T22:13:17.750Z", "2023-11-14T22:13:18.750Z"]
    assert [[at for at, _ in row["points"]] for row in answer["series"]] == [times, times]


def test_numbers_that_json_does_not_have_come_as_words(client, send_steps):
    send_steps(client, steps=3, losses=(math.nan, math.inf, 0.5))
    text = client.get("/api/v1/jobs/run-1/series?metric=training.loss&rank=0").text

    def refuse(word):
        raise AssertionError(f"{word} is no JSON")

    (series,) = json.loads(text, parse_constant=refuse)["series"]
    assert [value for _, value in series["points"]] == ["NaN", "Inf", 0.5]


def test_each_series_names_what_tells_it_apart(client, send_steps):
    send_steps(client)
    answer = client.get("/api/v1/jobs/run-1/series?metric=training.step.duration").json()
    assert [{}, {}] == [row["attributes"] for row in answer["series"]]


def test_a_job_is_summed_up_again_only_after_it_reported(client, send_steps, monkeypatch):
    send_steps(client)
    summed = []
    really = queries.summary

    def summary(attempt, host_names):
        summed.append(attempt.job)
        return really(attempt, host_names)

    monkeypatch.setattr(queries, "summary", summary)
    first = client.get("/api/v1/jobs").json()
    assert first == client.get("/api/v1/jobs").json()
    assert [] == summed
    send_steps(client, "run-2")
    client.get("/api/v1/jobs")
    assert {"run-2"} == set(summed)


def test_a_long_answer_is_thinned_and_says_so(client, send_steps, monkeypatch):
    from rankscope.collector.api.routes import jobs  # noqa: PLC0415

    monkeypatch.setattr(jobs, "MOST_POINTS", 8)
    send_steps(client, steps=10)
    answer = client.get("/api/v1/jobs/run-1/series?metric=training.step.duration").json()
    assert answer["every"] == 3
    assert [at[17:19] for at, _ in answer["series"][0]["points"]] == ["10", "13", "16", "19"]


def test_the_topology_hangs_together(client, send_steps):
    send_steps(client)
    answer = client.get("/api/v1/topology?job=run-1").json()
    nodes = {(node["type"], node["id"]) for node in answer["nodes"]}
    assert {("job", "run-1"), ("rank", "1"), ("host", "gpu-2"), ("gpu", "GPU-1")} <= nodes
    for edge in answer["edges"]:
        assert (edge["from"]["type"], edge["from"]["id"]) in nodes
        assert (edge["to"]["type"], edge["to"]["id"]) in nodes


def test_the_topology_can_end_at_the_hosts(client, send_steps):
    send_steps(client)
    answer = client.get("/api/v1/topology?job=run-1&detail=hosts").json()
    assert {"job", "host"} == {node["type"] for node in answer["nodes"]}
    assert 400 <= client.get("/api/v1/topology?job=run-1&detail=everything").status_code < 500


def test_targets_have_the_form_that_prometheus_wants(client, new_client, send_steps):
    assert client.get("/api/v1/targets").json() == []
    send_steps(client)
    answer = client.get("/api/v1/targets")
    assert answer.headers["content-type"] == "application/json"
    assert answer.json() == [
        {"targets": ["gpu-1:9470"], "labels": {"host_name": "gpu-1"}},
        {"targets": ["gpu-2:9470"], "labels": {"host_name": "gpu-2"}},
    ]


def test_a_quiet_stretch_is_explained_by_nothing(client, send_steps):
    send_steps(client)
    answer = client.get("/api/v1/root-cause?job=run-1&from=1&to=1700000000")
    assert answer.status_code == 200
    assert answer.json()["hypotheses"] == []
    assert answer.json()["unknown"]["reasons"] == ["nothing was found wrong in this time range"]


def test_a_job_known_by_an_event_alone_has_no_time_yet(client, clock):
    """Its first event comes before its first sample; the list of jobs must not fail until then."""
    resource = TelemetryResource(host="gpu-1", job="new", cluster="c1")
    event = Event("training.phase", clock.at, {"rank": 0, "phase": "init"}, resource)
    sent = client.post(
        "/v1/logs",
        content=encode.logs_request([(resource, [event])]),
        headers={"content-type": "application/x-protobuf"},
    )
    assert sent.status_code == 200

    def jobs():
        clock.at += 1
        return client.get("/api/v1/jobs").json()["items"]

    [job] = until(jobs, "the job")
    assert ("new", None, None, None) == (
        job["job"],
        job["first_at"],
        job["last_at"],
        job["goodput"],
    )
