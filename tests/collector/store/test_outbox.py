"""The outbox: order, retries and endings, without a network."""

import pytest
from sqlalchemy import select

from rankscope.alerts.ports import DeliveryOutcome
from rankscope.collector.settings.store import WebhookSettings
from rankscope.collector.store import schedule, tables
from rankscope.collector.store.database import IncidentDatabase
from rankscope.collector.store.endpoints import redacted
from rankscope.collector.store.errors import RefusedError, UnknownIdError
from rankscope.collector.store.store import IncidentDatabaseStore

T0 = 1_700_000_000.0
REFUSED = DeliveryOutcome(None, "connection refused")
SECRET = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"


@pytest.fixture
def three(store, add_webhook, changed):
    """Queue three messages about one incident and one about another."""
    add_webhook()
    store.commit([changed("opened", identity="a")], T0)
    store.commit([changed("opened", identity="b")], T0 + 1)
    store.commit([changed("updated", identity="a", updated_at=T0 + 20)], T0 + 20)
    store.commit([changed("resolved", identity="a", updated_at=T0 + 90)], T0 + 90)


def _next(store, now):
    found = store.next_delivery("wh_1", now)
    return None if found is None else found[1]


def _told(delivery):
    return None if delivery is None else (delivery.incident[0], delivery.type)


def test_messages_about_one_incident_go_out_in_order(store, three):
    valid = []
    while (delivery := _next(store, T0 + 100)) is not None:
        valid.append(_told(delivery))
        store.delivered("wh_1", delivery, DeliveryOutcome(200), T0 + 100)
    assert valid == [
        ("a", "incident.opened"),
        ("b", "incident.opened"),
        ("a", "incident.updated"),
        ("a", "incident.resolved"),
    ]


def test_a_message_that_waits_holds_its_own_incident_back_and_no_other(store, three):
    first = _next(store, T0 + 100)
    store.failed("wh_1", first, DeliveryOutcome(500, "500"), due_at=T0 + 400, now=T0 + 100)
    other = _next(store, T0 + 100)
    assert _told(other) == ("b", "incident.opened")
    store.delivered("wh_1", other, DeliveryOutcome(200), T0 + 100)
    assert _next(store, T0 + 399) is None
    assert _told(_next(store, T0 + 400)) == ("a", "incident.opened")


def test_an_attempt_at_an_endpoint_that_is_away_stands_for_all_that_waits(store, three):
    """A thousand messages for a dead endpoint are no thousand attempts."""
    store.failed("wh_1", _next(store, T0 + 100), REFUSED, due_at=T0 + 103, now=T0 + 100)
    assert store.waiting(T0 + 102) == []
    assert {row.attempts for row in store.deliveries("wh_1")} == {1}


def test_what_was_tried_more_often_only_waits_as_long(store, three, changed):
    """Each message has its own three days, however much comes after it."""
    store.failed("wh_1", _next(store, T0 + 100), REFUSED, due_at=T0 + 103, now=T0 + 100)
    store.commit([changed("opened", identity="c")], T0 + 102)
    fresh = _next(store, T0 + 104)
    assert (fresh.incident[0], fresh.attempts) == ("c", 0)
    store.failed("wh_1", fresh, REFUSED, due_at=T0 + 107, now=T0 + 104)
    assert {row.incident[0]: row.attempts for row in store.deliveries("wh_1")} == {
        "a": 1,
        "b": 1,
        "c": 1,
    }
    assert store.waiting(T0 + 106) == []


def test_news_of_an_incident_try_its_oldest_message_again_at_once(store, three, changed):
    """A page must not wait for the next attempt of what came before it, hours away."""
    store.failed("wh_1", _next(store, T0 + 100), REFUSED, due_at=T0 + 90_000, now=T0 + 100)
    assert _next(store, T0 + 200) is None
    store.commit([changed("updated", identity="b", updated_at=T0 + 200)], T0 + 200)
    assert _told(_next(store, T0 + 200)) == ("b", "incident.opened")


def test_an_endpoint_that_is_back_gets_what_waits_at_once(store, three, changed):
    """After days of retries the next attempt may be hours away: nobody wants to wait for that."""
    first = _next(store, T0 + 100)
    store.failed("wh_1", first, REFUSED, due_at=T0 + 90_000, now=T0 + 100)
    store.commit([changed("opened", identity="c")], T0 + 200)
    store.delivered("wh_1", _next(store, T0 + 200), DeliveryOutcome(200), T0 + 200)
    assert _told(_next(store, T0 + 200)) == ("a", "incident.opened")


def test_refusals_of_others_do_not_lengthen_the_wait_of_a_message_once_one_was_taken(
    store, add_webhook, changed
):
    """Ten pages at once, each refused the first time: the last one comes after half a minute."""
    add_webhook()
    store.commit([changed("opened", identity=f"{number:02}") for number in range(10)], T0)
    now, tried = T0, set[str]()
    while (delivery := _next(store, now)) is not None:
        if delivery.webhook_id in tried:
            store.delivered("wh_1", delivery, DeliveryOutcome(200), now)
            continue
        tried.add(delivery.webhook_id)
        delay = schedule.DELAYS_SECONDS[delivery.attempts + 1]
        store.failed("wh_1", delivery, REFUSED, due_at=now + delay, now=now)
        now += delay
    assert store.queue().messages["delivered"] == 10
    assert now - T0 == 10 * schedule.DELAYS_SECONDS[1]


def test_what_nobody_took_for_days_is_given_up(store, three, queued):
    store.failed("wh_1", _next(store, T0 + 100), REFUSED, due_at=T0 + 90_000, now=T0 + 100)
    assert 0 == store.expire(now=T0 + 4 * 86_400 - 1)
    assert 4 == store.expire(now=T0 + 5 * 86_400)
    assert {"dead"} == {state for _, state in queued()}


def test_a_message_the_receiver_turned_down_keeps_its_schedule(store, three):
    first = _next(store, T0 + 100)
    store.failed("wh_1", first, DeliveryOutcome(400, "400"), due_at=T0 + 90_000, now=T0 + 100)
    store.delivered("wh_1", _next(store, T0 + 200), DeliveryOutcome(200), T0 + 200)
    assert _next(store, T0 + 200) is None


def test_retry_after_quiets_the_whole_endpoint(store, three):
    first = _next(store, T0 + 100)
    busy = DeliveryOutcome(429, "429", retry_after=50.0)
    store.failed("wh_1", first, busy, due_at=T0 + 150, now=T0 + 100)
    assert store.waiting(T0 + 149) == []
    assert _next(store, T0 + 149) is None
    assert store.waiting(T0 + 150) == ["wh_1"]


def test_an_endpoint_that_says_it_is_gone_is_disabled(store, three, queued, changed):
    store.gone("wh_1", _next(store, T0 + 100), DeliveryOutcome(410, "410"), T0 + 100)
    assert store.waiting(T0 + 1e6) == []
    assert {state for _, state in queued()} == {"dead"}
    assert store.webhook("wh_1").disabled_reason == "the receiver answered 410 Gone"
    store.commit([changed("opened", identity="c")], T0 + 200)
    assert len(queued()) == 4


def test_what_was_given_up_can_be_sent_again_under_its_old_id(store, three):
    first = _next(store, T0 + 100)
    store.failed("wh_1", first, DeliveryOutcome(400, "400"), due_at=None, now=T0 + 100)
    assert _told(_next(store, T0 + 100)) == ("b", "incident.opened")
    assert store.replay("wh_1", states=("dead",), since=0.0, now=T0 + 500) == 1
    again = _next(store, T0 + 500)
    assert (again.notice, again.attempts) == (first.notice, 0)


def test_a_deleted_endpoint_is_told_nothing_more_and_its_secret_is_forgotten(store, three, url):
    under_way = _next(store, T0 + 100)
    secret = store.webhook("wh_1").endpoint.secret
    store.remove_webhook("wh_1", T0 + 100)
    store.failed("wh_1", under_way, REFUSED, due_at=T0 + 105, now=T0 + 101)
    assert store.waiting(T0 + 1e6) == []
    with pytest.raises(UnknownIdError):
        store.webhook("wh_1")
    store.close()
    database = IncidentDatabase(url)
    with database.read() as db:
        kept = repr(db.execute(select(tables.webhooks)).all())
    database.close()
    assert "wh_1" in kept
    assert secret not in kept


def test_finished_messages_are_let_go_and_pending_ones_never(store, three, queued):
    store.delivered("wh_1", _next(store, T0 + 100), DeliveryOutcome(200), T0 + 100)
    assert store.trim(before=T0 + 100) == 0
    assert store.trim(before=T0 + 1e9) == 1
    assert len(queued()) == 3
    assert store.queue().messages == {"pending": 3, "delivered": 0, "dead": 0, "suppressed": 0}
    assert store.queue().oldest_pending_at == T0 + 1


def _configured(url="https://pager.example/hook", **more):
    return WebhookSettings.model_validate({"url": url, "secret": SECRET, **more})


def test_endpoints_of_the_settings_follow_the_settings(url, changed):
    store = IncidentDatabaseStore(
        url, webhooks=[_configured(), _configured("https://b/", name="b")], now=T0
    )
    named = [row.endpoint.id for row in store.webhooks()]
    store.commit([changed("opened")], T0)
    store.close()
    store = IncidentDatabaseStore(url, webhooks=[_configured(severities=["critical"])], now=T0)
    assert [row.endpoint.id for row in store.webhooks()] == [
        identity for identity in named if identity != "b"
    ]
    assert store.webhooks()[0].endpoint.severities == ("critical",)
    assert store.waiting(T0) == [store.webhooks()[0].endpoint.id]
    with pytest.raises(RefusedError, match="settings file"):
        store.remove_webhook(store.webhooks()[0].endpoint.id, T0)
    store.close()


def test_who_opens_a_store_to_read_leaves_its_endpoints_and_messages_alone(url, changed):
    store = IncidentDatabaseStore(url, webhooks=[_configured()], now=T0)
    store.commit([changed("opened")], T0)
    (endpoint,) = store.waiting(T0)
    IncidentDatabaseStore(url).close()
    assert [endpoint] == [row.endpoint.id for row in store.webhooks() if row.endpoint.enabled]
    assert [endpoint] == store.waiting(T0)
    store.close()


def test_two_configured_endpoints_of_one_name_are_refused(url):
    twice = [_configured(), _configured()]
    with pytest.raises(RefusedError, match="give each a name"):
        IncidentDatabaseStore(url, webhooks=twice, now=T0)


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({"url": "ftp://h/"}, "url"),
        ({"url": "https://"}, "url"),
        ({"url": "https://h/ x"}, "url"),
        ({"url": "https://h:99999/"}, "url"),
        ({"secret": "hunter2"}, "secret"),
        ({"secret": "whsec_c2hvcnQ="}, "secret"),
        ({"format": "smoke"}, "format"),
        ({"format": "slack"}, "secret"),
        ({"format": "pagerduty"}, "secret"),
        ({"format": "pagerduty", "secret": ""}, "secret"),
        ({"secret": ""}, "secret"),
        ({"per_minute": 5}, "per_minute"),
        ({"format": "dingtalk", "per_minute": 21}, "per_minute"),
        ({"events": []}, "events"),
        ({"severities": ["loud"]}, "severities"),
        ({"nmae": "x"}, "nmae"),
    ],
)
def test_a_bad_endpoint_setting_is_refused_without_its_secrets(given, key):
    with pytest.raises(ValueError) as refusal:
        _configured(**given)
    text = str(refusal.value)
    assert key in text
    assert SECRET not in text
    assert "hunter2" not in text


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://h/p", "https://h/p"),
        ("https://u:hunter2@h:8/p?key=hunter2&x=1#f", "https://***@h:8/p?key=***&x=***"),
        ("https://hunter2@h/?hunter2", "https://***@h/?***"),
        ("http://[::1]:9/", "http://[::1]:9/"),
    ],
)
def test_what_may_be_secret_in_an_address_is_not_shown(url, shown):
    assert redacted(url) == shown
