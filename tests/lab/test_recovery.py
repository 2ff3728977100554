"""The laboratory's controller takes signed causes, once each; its trainer goes on where it was."""

import json
import queue
import time

import httpx
import pytest

from rankscope.alerts.notify import webhook
from rankscope.lab.jobs import resumable_trainer
from rankscope.lab.recovery.controller import receiving

SECRET = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"


@pytest.fixture
def inbox():
    with receiving(SECRET) as made:
        yield made


@pytest.fixture
def post(inbox):
    """Return a function that posts a signed message about a first cause on a host."""

    def send(type_="incident.opened", *, identity="msg_1", secret=SECRET):
        entity = {"type": "rank", "id": "3", "host": "demo-b", "ranks": [3]}
        first = {"fault": "software.stuck_process", "entity": entity, "confidence": "high"}
        data = {
            "id": "i1",
            "detected_at": "2026-03-02T08:00:12.000Z",
            "root_cause": {"hypotheses": [first]},
        }
        body = json.dumps({"type": type_, "data": data}).encode()
        headers = webhook.signed(secret, identity, body, time.time())
        return httpx.post(inbox.url, content=body, headers=headers).status_code

    return send


def test_a_signed_cause_is_received_once(inbox, post):
    assert [204, 204] == [post(), post()]
    cause = inbox.causes.get(timeout=60)
    assert ("i1", "software.stuck_process", "demo-b", "high") == (
        cause.incident, cause.fault, cause.host, cause.confidence,
    )  # fmt: skip
    with pytest.raises(queue.Empty):
        inbox.causes.get_nowait()


def test_what_is_not_signed_with_the_secret_or_opens_nothing_is_no_cause(inbox, post):
    assert 401 == post(secret="whsec_" + "QUJD" * 8)
    assert 204 == post("incident.resolved", identity="msg_2")
    with pytest.raises(queue.Empty):
        inbox.causes.get_nowait()


def test_progress_is_read_back_and_nothing_before_the_first_step(tmp_path):
    state = tmp_path / "state.pt"
    assert resumable_trainer.progress(state) is None
    resumable_trainer.write_progress(state, step=12, first=5)
    found = resumable_trainer.progress(state)
    assert found is not None
    assert (12, 5) == (found["step"], found["first"])
