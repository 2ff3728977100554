"""Every error is a problem document that says what is wrong and repeats nothing that was sent."""

from tests.examples import told

from rankscope.collector.api.limits import LARGEST


def _problem(answer, status):
    assert answer.status_code == status, answer.url
    assert answer.headers["content-type"] == "application/problem+json"
    body = answer.json()
    assert body["status"] == status
    assert body["type"] == "about:blank"
    assert body["title"]
    return body


ABSENT = [
    "/nope", "/api/v1", "/api/v1/nope", "/api/v1/jobs/", "/api/v1/jobs/none",
    "/api/v1/jobs/none/ranks", "/api/v1/jobs/none/series?metric=training.loss",
    "/api/v1/incidents/none", "/api/v1/incidents/none/root-cause",
    "/api/v1/incidents/none/timeline", "/api/v1/topology?job=none",
    "/api/v1/root-cause?job=none&from=1&to=2", "/api/v1/webhooks/none/deliveries",
    "/console/nope.js", "/console/../app.py",
]  # fmt: skip


def test_what_is_not_there_is_404(client):
    for path in ABSENT:
        assert _problem(client.get(path), 404)["detail"], path


def test_a_wrong_method_is_405_and_says_which_are_right(client):
    answer = client.delete("/api/v1/jobs")
    assert "DELETE" in _problem(answer, 405)["detail"]
    assert answer.headers["allow"] == "GET"


BAD = [
    ("/incidents?status=new", "status"),
    ("/incidents?severity=loud", "severity"),
    ("/incidents?fault=gpu.tired", "fault"),
    ("/incidents?since=yesterday", "since"),
    ("/incidents?since=nan", "since"),
    ("/incidents?since=-1", "since"),
    ("/incidents?since=1e300", "since"),
    ("/incidents?limit=0", "limit"),
    ("/incidents?limit=many", "limit"),
    ("/incidents?cursor=zzz", "cursor"),
    ("/incidents?stauts=open", "stauts"),
    ("/root-cause?job=a", "from"),
    ("/root-cause?job=a&from=2&to=1", "from"),
    ("/root-cause?from=1&to=2", "job"),
    ("/topology", "job"),
    ("/stats?since=x", "since"),
    ("/jobs/run-1/series", "metric"),
    ("/jobs/run-1/series?metric=nope", "metric"),
    ("/jobs/run-1/series?metric=training.loss&rank=x", "rank"),
    ("/jobs/run-1/series?metric=training.loss&from=9&to=8", "from"),
    ("/webhooks/w/deliveries?state=lost", "state"),
    ("/webhooks/w/deliveries?cursor=x", "cursor"),
]


def test_a_bad_parameter_is_400_and_named(client, opened):
    opened()
    for path, name in BAD:
        body = _problem(client.get(f"/api/v1{path}"), 400)
        assert body["parameter"] == name, path
        assert body["detail"].startswith(f"{name}:"), path


def test_a_body_that_is_no_json_is_400(client):
    answer = client.post(
        "/api/v1/silences", content=b"{hunter2", headers={"content-type": "application/json"}
    )
    assert "hunter2" not in str(_problem(answer, 400))


def test_a_body_that_says_something_wrong_is_422_and_every_mistake_is_pointed_at(client):
    body = {
        "url": "ftp://ada:hunter2@h/",
        "secret": "hunter2",
        "format": "slack",
        "severities": ["critical", "loud"],
        "nmae": "x",
    }
    problem = _problem(client.post("/api/v1/webhooks", json=body), 422)
    pointers = {row["pointer"] for row in problem["errors"]}
    assert pointers == {"#/url", "#/secret", "#/severities/1", "#/nmae"}
    assert "hunter2" not in str(problem)


def test_what_a_webhooks_format_needs_is_said(client):
    tried: list[tuple[dict[str, object], str, str]] = [
        ({"format": "smoke"}, "#/format", "there is no format 'smoke'; use one of: standard"),
        ({"format": "slack", "secret": "x"}, "#/secret", "slack takes none"),
        ({"format": "pagerduty"}, "#/secret", "32 letters and digits"),
        ({"format": "dingtalk", "per_minute": 21}, "#/per_minute", "at most 20 messages"),
        ({"per_minute": 5}, "#/per_minute", "every change is a message"),
    ]
    for body, pointer, text in tried:
        with told(body=body, pointer=pointer, text=text):
            body = {"url": "http://127.0.0.1/", **body}
            problem = _problem(client.post("/api/v1/webhooks", json=body), 422)
            assert [pointer] == [row["pointer"] for row in problem["errors"]]
            assert text in problem["detail"]


def test_a_body_over_the_limit_is_413_declared_or_not(client):
    much = b"[" + b" " * LARGEST
    headers = {"content-type": "application/json"}

    async def undeclared():
        yield much[:1000]
        yield much[1000:]

    for content in (much, undeclared()):
        answer = client.post("/api/v1/silences", content=content, headers=headers)
        _problem(answer, 413)


def test_what_the_intake_takes_is_bounded_by_the_intakes_own_limit(client):
    operations = client.get("/openapi.json").json()["paths"].items()
    paths = [path for path, row in operations if "ingest" in row.get("post", {}).get("tags", ())]
    assert len(paths) > 3
    for path in paths:
        answer = client.post(path, content=b" " * (LARGEST + 1))
        assert answer.status_code != 413, path


def test_a_defect_is_500_and_tells_nothing(client, store, monkeypatch):
    def fail():
        raise RuntimeError("hunter2")

    monkeypatch.setattr(store, "webhooks", fail)
    assert "hunter2" not in str(_problem(client.get("/api/v1/webhooks"), 500))
