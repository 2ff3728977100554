"""Endpoints that are away for three days, by a clock that is passed in."""

import json
from collections import defaultdict

import pytest
from tests.clocks import SetClock

from rankscope.alerts.ports import DeliveryOutcome
from rankscope.collector.store.deliver import OutboxDeliverer

T0 = 1_700_000_000.0
HOURS = 72
KINDS = ("opened", "updated", "resolved")
"""What happens to an incident, an hour each."""
MOST_BYTES_A_CHANGE = 8192
"""Of the database's file, with all that three endpoints wait for."""


class Network:
    """What stands in the place of `sending.send`: nothing gets through while it is away."""

    def __init__(self):
        self.away = True
        self.taken = defaultdict(list)

    def send(self, request, *, outcome, now):
        del now
        if self.away:
            return DeliveryOutcome(None, "ConnectError: No route to host")
        self.taken[request.url].append(request)
        return outcome(200, b"ok")


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path / 'rankscope.db'}"


def test_three_days_away_cost_little_disk_and_nothing_is_lost(
    store, add_webhook, changed, tmp_path
):
    """A machine gets the whole history in order, people and an Alertmanager the present state."""
    clock, network = SetClock(T0), Network()
    add_webhook("machine", url="http://machine/")
    add_webhook("chat", url="http://chat/", format="slack", secret="")
    add_webhook("alerts", url="http://alerts/", format="alertmanager_api", secret="")
    deliverer = OutboxDeliverer(outbox=store, clock=clock, send=network.send)

    def deliver():
        deliverer.run_once(clock.at)
        deliverer.settle(timeout_seconds=60)

    def size():
        store._database.engine.dispose()  # what is in the write-ahead log goes into the file
        return (tmp_path / "rankscope.db").stat().st_size

    empty = size()
    for hour in range(HOURS - 1):  # the last incident is still open when all are back
        clock.at += 3600.0
        number, phase = divmod(hour, len(KINDS))
        change = changed(KINDS[phase], identity=f"{number:04}", updated_at=clock.at)
        store.commit([change], clock.at)
        deliver()
    grown = size() - empty
    network.away = False
    for _ in range(5):
        clock.at += 6 * 3600.0  # the next attempt is at most a day away
        deliver()
    deliverer.stop()

    order = defaultdict(list)
    for request in network.taken["http://machine/"]:
        body = json.loads(request.body)
        order[body["data"]["id"]].append(body["type"])
    assert len(order) == HOURS / len(KINDS)
    *over, going_on = order.values()
    assert all(types == [f"incident.{kind}" for kind in KINDS] for types in over)
    assert going_on == ["incident.opened", "incident.updated"]
    ids = [request.headers["webhook-id"] for request in network.taken["http://machine/"]]
    assert len(ids) == len(set(ids)) == HOURS - 1
    [message] = network.taken["http://chat/"]
    assert f"{len(over)} resolved" in message.body.decode()
    for request in network.taken["http://alerts/"]:  # repeated while it lasts
        [alert] = json.loads(request.body)
        assert alert["labels"]["incident"] == list(order)[-1]
    queue = store.queue()
    assert queue.oldest_pending_at is None
    assert queue.messages["pending"] == queue.messages["dead"] == 0
    assert grown <= MOST_BYTES_A_CHANGE * HOURS, f"{grown / HOURS:.0f} bytes a change"
