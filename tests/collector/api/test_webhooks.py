"""Webhooks over HTTP: made, shown without secrets, tested, listed, sent again, deleted."""

import base64
import math
from dataclasses import replace

import pytest
from standardwebhooks import Webhook
from tests.examples import told
from tests.serving import Answer, served

from rankscope.alerts.ports import Outcome
from rankscope.collector.store.errors import UnknownIdError


@pytest.fixture
def receiver():
    """Return a server and what it got: headers and body."""
    got = []

    def take(request):
        got.append((request.headers, request.body))
        return Answer(status=204)

    with served(take) as address:
        yield f"{address}/hook", got


def _add(client, **more):
    answer = client.post("/api/v1/webhooks", json={"url": "http://127.0.0.1:9/hook", **more})
    assert answer.status_code == 201, answer.text
    return answer.json()


def test_a_secret_is_made_where_there_is_none_and_shown_this_once(client):
    made = _add(client)
    key = base64.b64decode(made["secret"].removeprefix("whsec_"))
    assert len(key) == 32
    listed = client.get("/api/v1/webhooks")
    assert made["secret"] not in listed.text
    assert "secret" not in listed.json()["items"][0]
    assert _add(client)["secret"] != made["secret"]


def test_a_secret_that_was_sent_is_not_sent_back(client):
    secret = "whsec_" + base64.b64encode(b"k" * 24).decode()
    answer = client.post("/api/v1/webhooks", json={"url": "http://h/", "secret": secret})
    assert answer.json()["secret"] is None
    assert secret not in answer.text


def test_what_is_secret_in_an_address_is_not_shown(client):
    made = _add(client, url="https://ada:hunter2@h.example/hook?key=hunter3")
    assert made["url"] == "https://***@h.example/hook?key=***"


@pytest.mark.parametrize(
    ("format_", "url", "shown"),
    [
        ("slack", "https://hooks.slack.com/services/T0/B0/hunter2", "https://hooks.slack.com/***"),
        (
            "feishu",
            "https://open.feishu.cn/open-apis/bot/v2/hook/hunter2",
            "https://open.feishu.cn/***",
        ),
        (
            "dingtalk",
            "https://oapi.dingtalk.com/robot/send?access_token=hunter2",
            "https://oapi.dingtalk.com/robot/send?access_token=***",
        ),
    ],
)
def test_the_token_of_a_bot_is_not_shown_wherever_it_stands(client, format_, url, shown):
    made = _add(client, format=format_, url=url)
    assert (shown, None, 2) == (made["url"], made["secret"], made["per_minute"])


def test_by_default_info_is_not_told(client):
    assert _add(client)["severities"] == ["critical", "warning"]
    assert _add(client, severities=["info"])["severities"] == ["info"]


def test_a_metadata_address_is_refused_at_once(client):
    tried = [
        "http://169.254.169.254/latest/meta-data",
        "http://[fe80::1]/",
        "http://[fd00:ec2::254]/",
        "http://[::ffff:169.254.169.254]/",
        "http://0.0.0.0/",
    ]
    for url in tried:
        with told(url=url):
            assert client.post("/api/v1/webhooks", json={"url": url}).status_code == 422


def test_a_test_message_arrives_signed(client, clock, receiver, monkeypatch):
    url, got = receiver
    made = _add(client, url=url)
    answer = client.post(f"/api/v1/webhooks/{made['id']}/test").json()
    assert (answer["delivered"], answer["status"], answer["error"]) == (True, 204, None)
    ((headers, body),) = got
    assert headers["webhook-id"] == answer["webhook_id"]
    assert headers["webhook-timestamp"] == str(int(clock.at))
    # The receiver's library knows the machine's time only; the collector's is set by the test.
    signature = Webhook(made["secret"]).sign(
        headers["webhook-id"], _moment(clock.at), body.decode()
    )
    assert headers["webhook-signature"] == signature
    assert b'"type":"webhook.test"' in body


def _moment(at):
    from datetime import UTC, datetime  # noqa: PLC0415

    return datetime.fromtimestamp(int(at), UTC)


def test_a_test_that_fails_says_why(client):
    made = _add(client)
    answer = client.post(f"/api/v1/webhooks/{made['id']}/test").json()
    assert answer["delivered"] is False
    assert "127.0.0.1" in answer["error"] or "refused" in answer["error"]


def test_deliveries_are_listed_newest_first_and_page_by_page(client, opened):
    made = _add(client)
    for number in range(5):
        opened(identity=f"{number}", at=1_700_000_000.0 + number)
    path = f"/api/v1/webhooks/{made['id']}/deliveries"
    found, cursor = [], None
    while True:
        page = client.get(path, params={"limit": 2} | ({"cursor": cursor} if cursor else {})).json()
        found += [row["incident"][0] for row in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert found == ["4", "3", "2", "1", "0"]
    row = client.get(path).json()["items"][0]
    assert (row["type"], row["state"], row["attempts"]) == ("incident.opened", "pending", 0)
    assert client.get(f"{path}?state=dead").json()["items"] == []


def test_what_was_given_up_is_sent_again_on_request(client, store, opened, clock):
    made = _add(client)
    opened()
    _, delivery = store.next_delivery(made["id"], clock.at + 100)
    failure = Outcome(None, "connection refused")
    store.failed(made["id"], delivery, failure, due_at=None, now=clock.at)
    answer = client.post(f"/api/v1/webhooks/{made['id']}/replay")
    assert (answer.status_code, answer.json()) == (202, {"replayed": 1})
    _, again = store.next_delivery(made["id"], clock.at)
    assert again.webhook_id == delivery.webhook_id
    answer = client.post(
        f"/api/v1/webhooks/{made['id']}/replay",
        json={"states": ["delivered", "dead"], "since": "2099-01-01T00:00:00Z"},
    )
    assert answer.json() == {"replayed": 0}


def test_nothing_is_replayed_to_a_disabled_endpoint(client, store, opened, clock):
    made = _add(client)
    opened()
    _, delivery = store.next_delivery(made["id"], clock.at + 100)
    store.gone(made["id"], delivery, Outcome(410, "gone"), clock.at)
    assert client.post(f"/api/v1/webhooks/{made['id']}/replay").status_code == 409
    shown = client.get("/api/v1/webhooks").json()["items"][0]
    assert (shown["enabled"], shown["disabled_reason"]) == (False, "the receiver answered 410 Gone")


def test_a_deleted_webhook_is_gone(client, store):
    made = _add(client)
    assert client.delete(f"/api/v1/webhooks/{made['id']}").status_code == 204
    assert client.get("/api/v1/webhooks").json()["items"] == []
    assert client.delete(f"/api/v1/webhooks/{made['id']}").status_code == 404
    with pytest.raises(UnknownIdError):
        store.webhook(made["id"])


def test_webhooks_are_listed_page_by_page_the_oldest_first(client, clock):
    made = []
    for _ in range(5):
        clock.at += 1
        made.append(_add(client)["id"])
    seen, cursor = [], None
    for count in (2, 2, 1):
        more = "" if cursor is None else f"&cursor={cursor}"
        page = client.get(f"/api/v1/webhooks?limit=2{more}").json()
        assert len(page["items"]) == count
        seen += [row["id"] for row in page["items"]]
        cursor = page["next_cursor"]
    assert cursor is None
    assert seen == made
    assert client.get("/api/v1/webhooks", params={"size": 2}).status_code == 400


def test_there_is_an_end_to_how_many_webhooks_are_kept(client):
    for _ in range(64):
        _add(client)
    answer = client.post("/api/v1/webhooks", json={"url": "http://127.0.0.1/"})
    assert answer.status_code == 409


# Silences and maintenance


def test_a_silence_is_made_listed_and_ended(client, clock):
    body = {
        "matchers": [{"name": "job", "patterns": ["run-*"]}],
        "ends_at": clock.at + 3600,
        "author": "ada",
        "comment": "known",
    }
    answer = client.post("/api/v1/silences", json=body)
    assert answer.status_code == 201
    made = answer.json()
    assert made["state"] == "active"
    assert made["ends_at"] == "2023-11-14T23:13:20.250Z"
    assert client.get("/api/v1/silences").json()["items"] == [made]
    clock.at += 3600
    assert client.get("/api/v1/silences").json()["items"][0]["state"] == "expired"
    assert client.delete(f"/api/v1/silences/{made['id']}").status_code == 204
    assert client.get("/api/v1/silences").json()["items"] == []
    assert client.delete(f"/api/v1/silences/{made['id']}").status_code == 404


def test_a_silence_that_makes_no_sense_is_refused(client):
    tried: list[dict[str, object]] = [
        {"matchers": []},
        {"matchers": [{"name": "color", "patterns": ["red"]}]},
        {"matchers": [{"name": "job", "patterns": []}]},
        {"ends_at": "2001-01-01T00:00:00Z"},
        {"ends_at": None},
        {"ends_at": True},
        {"starts_at": "2098-01-01T00:00:00Z", "ends_at": "2097-01-01T00:00:00Z"},
        {"surprise": 1},
    ]
    for change in tried:
        with told(change=change):
            body = {
                "matchers": [{"name": "job", "patterns": ["*"]}],
                "ends_at": "2099-01-01T00:00:00Z",
            }
            assert client.post("/api/v1/silences", json=body | change).status_code == 422
            assert client.get("/api/v1/silences").json()["items"] == []


def test_maintenance_is_made_listed_and_ended(client):
    body = {"hosts": ["gpu-1*"], "ends_at": "2099-01-01T00:00:00Z", "comment": "rack 7"}
    made = client.post("/api/v1/maintenance", json=body).json()
    assert (made["hosts"], made["jobs"], made["state"]) == (["gpu-1*"], [], "active")
    assert client.get("/api/v1/maintenance").json()["items"] == [made]
    assert client.get("/api/v1/silences").json()["items"] == []
    assert client.delete(f"/api/v1/silences/{made['id']}").status_code == 404
    assert client.delete(f"/api/v1/maintenance/{made['id']}").status_code == 204
    nothing = {"ends_at": "2099-01-01T00:00:00Z"}
    assert client.post("/api/v1/maintenance", json=nothing).status_code == 422


BEHIND_SECONDS = 600.0


@pytest.fixture
def ahead(new_services, clock):
    """Return the services of a collector that is minutes ahead of its database."""
    stored = replace(clock, at=clock.at - BEHIND_SECONDS)
    return replace(new_services(), store_clock=stored)


def test_what_is_sent_again_is_due_by_the_clock_of_the_store(ahead, client_of, store, opened):
    """A collector minutes ahead would have it wait for minutes, behind what came later."""
    client = client_of(ahead)
    made = _add(client)
    opened()
    now = ahead.store_clock.now()
    _, delivery = store.next_delivery(made["id"], math.inf)
    store.failed(made["id"], delivery, Outcome(500), due_at=None, now=now)
    assert store.waiting(now) == []
    assert client.post(f"/api/v1/webhooks/{made['id']}/replay").json() == {"replayed": 1}
    assert store.waiting(now) == [made["id"]]


def test_a_test_message_is_signed_at_the_time_of_the_store(ahead, client_of, receiver):
    """Receivers refuse what was signed minutes away from their own time."""
    url, got = receiver
    client = client_of(ahead)
    made = _add(client, url=url)
    client.post(f"/api/v1/webhooks/{made['id']}/test")
    [(headers, _)] = got
    assert int(headers["webhook-timestamp"]) == int(ahead.store_clock.now())
