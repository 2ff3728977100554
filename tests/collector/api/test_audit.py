"""The audit trail: who did what, when, and with which token."""

import pytest


@pytest.fixture
def client(new_client, protected):
    return new_client(**protected)


def _audit(client, bearer, **params):
    answer = client.get("/api/v1/audit", headers=bearer("admin"), params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_what_people_do_about_incidents_is_kept_with_the_token_that_did_it(
    client, bearer, opened, clock
):
    identity = opened()
    path = f"/api/v1/incidents/{identity}/ack"
    client.post(path, headers=bearer("admin"), json={"by": "ann", "note": "on it"})
    (row,) = _audit(client, bearer)["items"]
    assert row["token"] == "admin-bot"
    assert (row["by"], row["action"], row["subject"]) == ("ann", "acknowledge", identity)
    assert row["details"] == {"note": "on it"}


def test_what_is_configured_is_kept_too_and_what_was_refused_is_not(client, bearer):
    body = {"url": "https://example.com/hook?key=secret"}
    made = client.post("/api/v1/webhooks", headers=bearer("admin"), json=body).json()
    client.delete("/api/v1/webhooks/nothing", headers=bearer("admin"))
    client.delete(f"/api/v1/webhooks/{made['id']}", headers=bearer("admin"))
    found = _audit(client, bearer)
    assert [row["action"] for row in found["items"]] == ["webhooks.delete", "webhooks.add"]
    assert found["items"][0]["subject"] == made["id"]
    assert "secret" not in str(found)


def test_it_is_read_page_by_page_and_by_what_was_done(client, bearer, opened):
    for number in range(3):
        path = f"/api/v1/incidents/{opened(identity=f'{number}')}/assign"
        client.post(path, headers=bearer("admin"), json={"assignee": f"p{number}"})
    page = _audit(client, bearer, limit=2)
    assert [row["details"]["assignee"] for row in page["items"]] == ["p2", "p1"]
    rest = _audit(client, bearer, limit=2, cursor=page["next_cursor"])
    assert [row["details"]["assignee"] for row in rest["items"]] == ["p0"]
    assert rest["next_cursor"] is None
    assert _audit(client, bearer, action="acknowledge")["items"] == []


@pytest.mark.parametrize("role", ["read", "run-1"])
def test_only_admins_of_all_jobs_read_it(client, bearer, role):
    assert client.get("/api/v1/audit", headers=bearer(role)).status_code == 403
