"""Tokens: roles in order, limits to jobs, and no token on what probes and browsers ask."""

import pytest
from tests.examples import told

READ = [
    "/jobs", "/incidents", "/stats", "/targets", "/silences", "/maintenance", "/webhooks",
]  # fmt: skip


@pytest.fixture
def client(new_client, protected):
    return new_client(**protected)


@pytest.fixture
def callers(bearer) -> list[dict[str, str]]:
    """Return the headers of nobody, and of each role from the least."""
    return [{}, bearer("ingest"), bearer("read"), bearer("admin")]


def test_health_metrics_and_console_want_no_token(client):
    for path in ["/healthz", "/readyz", "/metrics", "/openapi.json", "/"]:
        with told(path=path):
            assert client.get(path).status_code == 200


def test_reading_wants_the_role_read(client, callers):
    for path in READ:
        with told(path=path):
            statuses = [
                client.get(f"/api/v1{path}", headers=headers).status_code for headers in callers
            ]
            assert statuses == [401, 403, 200, 200]


def test_writing_wants_the_role_admin(client, callers, opened):
    path = f"/api/v1/incidents/{opened()}/ack"
    statuses = [client.post(path, headers=headers).status_code for headers in callers]
    assert statuses == [401, 403, 403, 200]


def test_sending_telemetry_wants_the_role_ingest_or_more(client, callers):
    statuses = [
        client.post(
            "/v1/metrics",
            content=b"",
            headers={"content-type": "application/x-protobuf", **headers},
        ).status_code
        for headers in callers
    ]
    assert statuses == [401, 200, 200, 200]


def test_what_is_no_known_token_is_401_with_a_challenge(client):
    tried = ["", "Bearer", "Bearer wrong", "Basic cmVhZA==", "Bearer \u00e9\u00e9\u00e9"]
    for header in tried:
        with told(header=header):
            answer = client.get("/api/v1/jobs", headers={"authorization": header.encode("latin-1")})
            assert answer.status_code == 401
            assert answer.headers["www-authenticate"].startswith("Bearer")
            assert answer.headers["content-type"] == "application/problem+json"


def test_what_is_done_is_signed_with_the_tokens_name(client, bearer, opened):
    path = f"/api/v1/incidents/{opened()}/ack"
    document = client.post(path, headers=bearer("admin")).json()
    assert document["handling"]["acknowledged"]["by"] == "admin-bot"


def test_a_token_limited_to_jobs_sees_no_other(client, bearer, opened, send_steps):
    mine = opened(identity="a", jobs=("run-1",))
    other = opened(identity="b", jobs=("prod-1",))
    shared = opened(identity="c", jobs=("run-1", "prod-1"))
    opened(identity="d", jobs=())
    send_steps(client, "prod-1", headers=bearer("admin"))
    limited = bearer("run-1")

    def get(path):
        return client.get(f"/api/v1{path}", headers=limited)

    assert [row["id"] for row in get("/incidents").json()["items"]] == [mine]
    assert [row["job"] for row in get("/jobs").json()["items"]] == ["run-1"]
    assert get(f"/incidents/{mine}").status_code == 200
    for identity in (other, shared):
        assert get(f"/incidents/{identity}").status_code == 404
        assert client.post(
            f"/api/v1/incidents/{identity}/ack", headers=limited
        ).status_code == 404  # fmt: skip
    for path in (
        "/jobs/prod-1",
        "/jobs/prod-1/ranks",
        "/jobs/prod-1/series?metric=training.loss",
        "/topology?job=prod-1",
        "/root-cause?job=prod-1&from=1&to=2",
        "/silences",
        "/maintenance",
        "/webhooks",
    ):
        assert get(path).status_code == 403
    assert get("/targets").json() == []
    assert sum(get("/stats").json()["incidents"].values()) == 1


@pytest.mark.parametrize(
    "token", ["short", "spaces are not in tokens", "na\u00efve-token-0123456789"]
)
def test_a_token_that_would_not_do_stops_the_start(new_client, token):
    with pytest.raises(ValueError, match="at least 16 printable ASCII"):
        new_client(api={"tokens": [{"token": token, "role": "read"}]})


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "localhost:8470"}, 200),
        ({"host": "console.localhost"}, 200),
        ({"host": "[::1]:8470"}, 200),
        ({"host": "rebound.evil.example:8470"}, 403),
        ({"host": "127.0.0.1.evil.example"}, 403),
        ({"sec-fetch-site": "same-origin"}, 200),
        ({"sec-fetch-site": "none"}, 200),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "cross-site", "sec-fetch-dest": "iframe"}, 403),
        ({"sec-fetch-site": "cross-site", "sec-fetch-dest": "document"}, 200),
    ],
)
@pytest.mark.parametrize("path", ["/api/v1/jobs", "/metrics", "/openapi.json", "/"])
def test_pages_of_other_sites_get_nothing_out_of_an_open_collector(
    new_client, path, headers, status
):
    """A browser on this machine reaches loopback for any page that it shows."""
    assert new_client().get(path, headers=headers).status_code == status


def test_a_form_of_another_site_changes_nothing(new_client):
    headers = {"sec-fetch-site": "cross-site", "sec-fetch-dest": "document"}
    assert 403 == new_client().post("/api/v1/silences", headers=headers).status_code


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_who_asks_for_health_may_use_any_name(new_client, path):
    assert 200 == new_client().get(path, headers={"host": "collector.example"}).status_code


def test_with_tokens_any_name_will_do(client, bearer):
    headers = {"host": "rankscope.example", "sec-fetch-site": "cross-site", **bearer("read")}
    assert client.get("/api/v1/jobs", headers=headers).status_code == 200


def test_the_session_says_what_a_token_may_do(client, bearer):
    assert 401 == client.get("/api/v1/session").status_code
    assert {"role": "read", "name": "read-bot", "jobs": [], "token_required": True} == client.get(
        "/api/v1/session", headers=bearer("read")
    ).json()
    limited = client.get("/api/v1/session", headers=bearer("run-1")).json()
    assert ("admin", ["run-*"]) == (limited["role"], limited["jobs"])


def test_without_tokens_everybody_on_this_machine_is_admin(new_client):
    assert {"role": "admin", "name": "", "jobs": [], "token_required": False} == (
        new_client().get("/api/v1/session").json()
    )
