"""Orders as signed messages, the same at every attempt, and what each answer means."""

import json
import time
from dataclasses import dataclass, field
from typing import Any

import pytest
from pydantic import SecretStr
from standardwebhooks import Webhook
from tests.serving import Answer, served

from rankscope.collector.remedies.executors import webhook
from rankscope.collector.remedies.executors.contract import (
    RefusedOrderError,
    UnansweredOrderError,
)
from rankscope.collector.settings.actions import ExecutorSettings
from rankscope.collector.store import endpoints
from rankscope.vocabulary.clock import SystemClock


@dataclass
class OrderReceiver:
    secret: str
    url: str = ""
    answers: list[tuple[int, str]] = field(default_factory=list)
    got: list[tuple[str, Any, bytes]] = field(default_factory=list)


@pytest.fixture
def receiver():
    """Run a receiver that verifies; `answers` are the next ones: status, body."""
    double = OrderReceiver(endpoints.new_secret())

    def answer(request):
        message = Webhook(double.secret).verify(request.body, dict(request.headers))
        double.got.append((request.headers["webhook-id"], message, request.body))
        status, text = double.answers.pop(0) if double.answers else (200, "")
        return Answer(text.encode(), status=status)

    with served(answer) as url:
        double.url = f"{url}/orders"
        yield double


@pytest.fixture
def executor(receiver):
    settings = ExecutorSettings(
        kind="webhook", url=SecretStr(receiver.url), secret=SecretStr(receiver.secret)
    )
    return webhook.executor(settings, SystemClock())


def test_an_order_is_signed_and_has_the_same_id_and_bytes_at_every_attempt(
    executor, receiver, order_of, allowed
):
    receiver.answers = [(503, ""), (200, '{"text": "gpu-1 is cordoned"}')]
    with pytest.raises(UnansweredOrderError):
        executor.carry_out(order_of(), {}, allowed)
    time.sleep(1.1)  # another second, another signature
    assert "gpu-1 is cordoned" == executor.carry_out(order_of(), {}, allowed)
    (one, message, first), (two, _, second) = receiver.got
    assert ("ab12", "ab12", first) == (one, two, second)
    assert ("action.ordered", "exclude_node", "gpu-1") == (
        message["type"],
        message["data"]["action"],
        message["data"]["host"],
    )
    assert 2 == allowed.count


def test_an_undo_is_a_message_of_its_own(executor, receiver, order_of, allowed):
    executor.undo(order_of(), {}, allowed)
    ((identity, message, _),) = receiver.got
    assert ("ab12-undo", "action.undo") == (identity, message["type"])


@pytest.mark.parametrize(
    ("status", "body", "error"),
    [
        (500, "", UnansweredOrderError),
        (429, "", UnansweredOrderError),
        (404, "", UnansweredOrderError),
        (202, "", UnansweredOrderError),
        (200, '{"state": "accepted"}', UnansweredOrderError),
        (200, '{"state": "refused", "text": "no spare"}', RefusedOrderError),
        (422, '{"text": "no such job"}', RefusedOrderError),
        (410, "", RefusedOrderError),
        (302, "", UnansweredOrderError),
    ],
)
def test_what_an_answer_means(executor, receiver, order_of, allowed, status, body, error):
    receiver.answers = [(status, body)]
    with pytest.raises(error) as found:
        executor.carry_out(order_of(), {}, allowed)
    if '"text"' in body:
        assert json.loads(body)["text"] == str(found.value)


@pytest.mark.parametrize("body", ["", "ok", "[]", '{"state": "done"}', '{"state": 7}'])
def test_any_other_2xx_is_done(executor, receiver, order_of, allowed, body):
    receiver.answers = [(200, body)]
    assert "the receiver answered 200" == executor.carry_out(order_of(), {}, allowed)


def test_a_receiver_that_is_not_there_is_asked_again(order_of, allowed):
    settings = ExecutorSettings(
        kind="webhook",
        url=SecretStr("http://127.0.0.1:9/"),
        secret=SecretStr(endpoints.new_secret()),
    )
    with pytest.raises(UnansweredOrderError):
        webhook.executor(settings, SystemClock()).carry_out(order_of(), {}, allowed)
