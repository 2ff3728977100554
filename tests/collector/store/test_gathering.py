"""What leaves when much happens at once, or after a long outage: digests, alerts, histories."""

import json
import random
from urllib.parse import urlsplit

import pytest
from sqlalchemy import text, update
from tests.clocks import SetClock
from tests.examples import LONG

from rankscope.alerts import notify
from rankscope.alerts.ports import DeliveryOutcome
from rankscope.collector.store import pacing
from rankscope.collector.store.deliver import OutboxDeliverer
from rankscope.collector.store.tables import webhooks

T0 = 1_700_000_000.0
HOUR = 3600.0
KEY = "R" * 32
CHANGES, INCIDENTS = (10_000, 200) if LONG else (1000, 20)
HOURS = 72 if LONG else 12
PEOPLE = [name for name, row in notify.FORMATS.items() if row.TRAITS.delivery == "digest"]
SECRETS = {"pagerduty": KEY, "slack": "", "wecom": "", "alertmanager_api": ""}


class Channel:
    """A receiver in memory: what it was sent, and whether it answers."""

    def __init__(self, clock):
        self.clock = clock
        self.away = False
        self.sent = {}
        self.attempts = {}

    def __call__(self, request, *, outcome, now):
        name = urlsplit(request.url).hostname
        self.attempts.setdefault(name, []).append(now())
        if self.away:
            return DeliveryOutcome(None, "connection refused")
        self.sent.setdefault(name, []).append((now(), json.loads(request.body)))
        body = b'{"code":0,"errcode":0}'
        return outcome(200, body)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.long)])
def url(request, url_of):
    """Return the URL of an empty store: what is gathered is the same, whatever database it is."""
    return url_of(request.param)


@pytest.fixture
def clock():
    return SetClock(T0)


@pytest.fixture
def channel(clock):
    return Channel(clock)


@pytest.fixture
def add(add_webhook):
    """Return a function that adds an endpoint of a format under its name, and returns that."""

    def add_one(name, **more):
        if name in SECRETS:
            more["secret"] = SECRETS[name]
        return add_webhook(name, url=f"http://{name}/x", format=name, **more)

    return add_one


@pytest.fixture
def pass_time(store, clock, channel):
    """Return a function that lets so many seconds pass, delivering at each of `step`."""
    deliverer = OutboxDeliverer(outbox=store, clock=clock, send=channel, chance=random.Random(1))

    def run(seconds, step=1.0):
        end = clock.at + seconds
        while True:
            deliverer.run_once(clock.at)
            deliverer.settle()
            if clock.at >= end:
                return
            clock.at += step

    yield run
    deliverer.stop()


def _text(message):
    return json.dumps(message, ensure_ascii=False)


@pytest.mark.timeout(600)
def test_a_storm_is_two_messages_a_channel_in_its_first_minute(
    store, add, changed, channel, clock, pass_time
):
    """CHANGES in 10 s, from one switch, of INCIDENTS incidents."""
    urls = [add("wecom"), add("pagerduty")]
    for second in range(10):
        changes = [
            changed(
                "opened" if second == 0 else "updated",
                identity=f"{number % INCIDENTS:04}",
                at=T0,
                updated_at=T0 + second + number // INCIDENTS / 10 + 0.001,
                severity="critical" if number % INCIDENTS < 5 else "warning",
            )
            for number in range(CHANGES // 10)
        ]
        store.commit(changes, clock.at)
        pass_time(0)
        clock.at += 1.0
    pass_time(49)
    for url in urls:
        times = [at for at, _ in channel.sent[url]]
        assert times[0] <= T0 + 1.0
        assert len(times) <= 2
    pass_time(180)
    assert 0 == store.queue().messages["pending"]
    for name in urls:
        assert "open (" in _text(channel.sent[name][1][1])
        rows = store.deliveries(name, limit=20_000)
        assert {"delivered"} == {row.state for row in rows}
        assert len({row.incident for row in rows}) == INCIDENTS


@pytest.mark.parametrize("name", PEOPLE)
def test_no_minute_has_more_messages_than_an_endpoint_wants(
    store, add, changed, channel, pass_time, clock, name
):
    url = add(name)
    for number in range(130):
        store.commit([changed("opened", identity=f"{number:03}", at=clock.at)], clock.at)
        pass_time(1)
    times = [at for at, _ in channel.sent[url]]
    for first in times:
        assert sum(first <= at < first + 60 for at in times) <= 2
    assert T0 == times[0]


def test_what_is_folded_says_what_it_stands_for(store, add, changed, channel, pass_time, clock):
    url = add("wecom")
    store.commit([changed("opened", identity="a")], clock.at)
    pass_time(1)
    for number in range(11):
        store.commit([changed("opened", identity=f"b{number:02}")], clock.at)
    pass_time(30)
    (_, first), (at, second) = channel.sent[url]
    assert first["text"]["content"].startswith("Rankscope CRITICAL: ")
    assert T0 + pacing.GATHER_SECONDS <= at <= T0 + pacing.GATHER_SECONDS + 1
    content = second["text"]["content"]
    assert "Rankscope: 11 incidents open (11 critical)" in content
    assert "Stands for: 11 messages since 2023-11-14 22:13:2" in content
    assert "And: 3 more incidents" in content


def test_an_endpoint_may_ask_for_more(store, add, changed, channel, pass_time, clock):
    url = add("dingtalk", per_minute=20)
    for number in range(60):
        store.commit([changed("opened", identity=f"{number:02}")], clock.at)
        pass_time(1)
    assert 15 <= len(channel.sent[url]) <= 20


def test_several_changes_of_one_incident_are_one_message_of_its_present_state(
    store, add, changed, channel, pass_time, clock
):
    url = add("slack")
    channel.away = True
    for kind, later in (("opened", 0), ("updated", 20), ("resolved", 90)):
        store.commit([changed(kind, updated_at=T0 + later)], clock.at)
        pass_time(30)
    channel.away = False
    pass_time(120)
    ((_, message),) = channel.sent[url]
    assert "RESOLVED: " in message["text"]
    assert "Stands for: 3 messages" in _text(message)


def test_a_retry_has_the_id_of_the_first_attempt(store, add, changed, clock):
    add("pagerduty")
    store.commit([changed("opened", identity="a")], T0)
    first = store.next_delivery("pagerduty", T0)[1]
    refused = DeliveryOutcome(None, "connection refused")
    store.failed("pagerduty", first, refused, due_at=T0 + 10, now=T0)
    store.commit([changed("opened", identity="b")], T0 + 10)
    again = store.next_delivery("pagerduty", T0 + 10)[1]
    assert first.webhook_id == again.webhook_id
    assert ("digest", 2) == (again.type, again.notice.stands_for)


def test_pagerduty_is_followed_up_under_the_keys_that_it_got(
    store, add, changed, channel, pass_time, clock
):
    """The first incident alone, the next two as one alert; it ends when both are over."""
    url = add("pagerduty")
    store.commit([changed("opened", identity="a")], clock.at)
    pass_time(1)
    store.commit([changed("opened", identity=name) for name in "bc"], clock.at)
    pass_time(100)
    for name in "abc":
        store.commit([changed("resolved", identity=name, updated_at=clock.at)], clock.at)
        pass_time(100)
    events = [(row["event_action"], row["dedup_key"]) for _, row in channel.sent[url]]
    alone, together = events[0][1], events[1][1]
    assert alone != together
    assert events == [
        ("trigger", alone),
        ("trigger", together),
        ("resolve", alone),
        ("trigger", together),
        ("resolve", together),
    ]
    assert "2 incidents open" in channel.sent[url][1][1]["payload"]["summary"]


def test_a_channel_that_is_full_is_left_alone_and_loses_nothing(
    store, add, changed, clock, pass_time, channel
):
    url = add("dingtalk")
    answers = iter([b'{"errcode":130101,"errmsg":"too fast"}'])
    taken = []

    def answer(request, *, outcome, now):
        body = next(answers, b'{"errcode":0}')
        taken.append((now(), body))
        return outcome(200, body)

    deliverer = OutboxDeliverer(outbox=store, clock=clock, send=answer)
    store.commit([changed("opened")], clock.at)
    for _ in range(620):
        deliverer.run_once(clock.at)
        deliverer.settle()
        clock.at += 1
    deliverer.stop()
    assert [T0, T0 + 600] == [at for at, _ in taken]
    assert url
    assert "delivered" == store.deliveries("dingtalk")[0].state


# A real Alertmanager is in test_alertmanager.py; here is when it is sent what.


def test_alerts_are_repeated_while_their_incident_is_open(
    store, add, changed, channel, pass_time, clock
):
    url = add("alertmanager_api")
    store.commit([changed("opened", identity=name) for name in "ab"], clock.at)
    pass_time(150)
    times = [at - T0 for at, _ in channel.sent[url]]
    assert [0.0, 60.0, 120.0] == times
    store.commit([changed("resolved", identity="a", updated_at=clock.at)], clock.at)
    pass_time(130)
    last = channel.sent[url][-1][1]
    assert ["b"] == [alert["labels"]["incident"][0] for alert in last]
    store.commit([changed("resolved", identity="b", updated_at=clock.at)], clock.at)
    pass_time(1)
    sent = len(channel.sent[url])
    pass_time(300, step=10.0)
    assert sent == len(channel.sent[url])


def test_an_alert_whose_severity_rose_ends_under_the_old_label(
    store, add, changed, channel, pass_time, clock
):
    url = add("alertmanager_api")
    store.commit([changed("opened", severity="warning")], clock.at)
    pass_time(30)
    store.commit([changed("updated", severity="critical", updated_at=clock.at)], clock.at)
    pass_time(1)
    old, new = channel.sent[url][-1][1]
    assert ("warning", "critical") == (old["labels"]["severity"], new["labels"]["severity"])
    assert old["endsAt"] < new["endsAt"]


def test_alerts_that_could_not_be_pushed_are_pushed_when_it_is_back(
    store, add, changed, channel, pass_time, clock
):
    url = add("alertmanager_api")
    store.commit([changed("opened")], clock.at)
    pass_time(10)
    channel.away = True
    pass_time(600, step=5.0)
    channel.away = False
    pass_time(20)
    assert channel.sent[url][-1][0] >= clock.at - 20


@pytest.mark.timeout(600)
def test_days_away_lose_nothing_and_take_little_space(
    store, add, changed, channel, pass_time, clock, tmp_path
):
    """HOURS with 5 incidents an hour, three messages each; then everything arrives.

    A program gets the full history, each incident's messages in order; people the present state.
    """
    program, people = add("standard"), add("feishu")
    channel.away = True
    texts = "x" * 2000  # documents grow with their evidence
    for hour in range(HOURS):
        changes = [
            changed(
                kind, identity=f"{hour:02}{n:02}", updated_at=T0 + hour * HOUR + at, summary=texts
            )
            for n in range(5)
            for kind, at in (("opened", 1), ("updated", 2), ("resolved", 3))
        ]
        store.commit(changes, clock.at)
        pass_time(HOUR, step=300.0)
    messages = HOURS * 5 * 3
    assert messages * 2 == store.queue().messages["pending"]
    # One probe at a time, however much waits: the schedule's first steps for each hour's news.
    assert len(channel.attempts[program]) < HOURS * 15
    with store._database.read() as db:
        kept = db.execute(text("SELECT sum(length(body)) FROM outbox")).scalar_one()
    assert kept < messages * 1500
    size = sum(path.stat().st_size for path in tmp_path.iterdir())
    assert size < 20e6
    channel.away = False
    pass_time(26 * HOUR, step=600.0)
    assert {"pending": 0, "delivered": messages * 2, "dead": 0, "suppressed": 0} == (
        store.queue().messages
    )
    histories: dict[str, list[str]] = {}
    for _, body in channel.sent[program]:
        histories.setdefault(body["data"]["id"], []).append(body["type"].partition(".")[2])
    assert len(histories) == HOURS * 5
    assert {("opened", "updated", "resolved")} == {tuple(row) for row in histories.values()}
    ((_, digest),) = channel.sent[people]
    assert f"None open, {HOURS * 5} resolved" in _text(digest)
    assert f"Stands for: {messages} messages" in _text(digest)


def test_messages_for_a_format_that_an_endpoint_had_before_are_not_lost(
    store, add, changed, channel, pass_time, clock
):
    """A row for people holds no document: as another format it is sent with the present state."""
    add("slack")
    store.commit([changed("opened")], clock.at)
    with store._database.write() as db:
        secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
        db.execute(update(webhooks).values(format="standard", secret=secret))
    pass_time(1)
    ((_, message),) = channel.sent["slack"]
    assert "incident.opened" == message["type"]
    assert message["data"]["summary"]
