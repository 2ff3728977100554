"""A soak goes on where it stopped: its state and what the receiver took are files."""

import json
import urllib.error
import urllib.request
from datetime import UTC, datetime

from standardwebhooks import Webhook

from bench.soak.receiver import MessageReceiver
from bench.soak.rounds import SoakState

SECRET = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"


def test_the_state_of_an_interrupted_soak_is_read_again(tmp_path):
    path = tmp_path / "state.json"
    state = SoakState.read(path, seed=7)
    state.kills, state.rounds = 50, 3
    state.jobs.append("soak-001-00")
    state.write(path)
    assert SoakState.read(path, seed=0) == state


def post(receiver, identity, secret=SECRET):
    """Send a message to a receiver until it is taken."""
    data = {"id": "i1", "job": "j"}
    text = json.dumps({"type": "incident.opened", "timestamp": "2026", "data": data})
    at = datetime.now(UTC)
    headers = {
        "webhook-id": identity,
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": Webhook(secret).sign(identity, at, text),
    }
    request = urllib.request.Request(receiver.url, text.encode(), headers)
    for _ in range(2):
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            if error.code == 400:
                return error.code
        except OSError:
            continue
    raise AssertionError("the second try of a message is always taken")


def test_what_a_receiver_took_outlives_it(tmp_path):
    path = tmp_path / "messages.jsonl"
    first = MessageReceiver(path, SECRET)
    identities = [f"m{number}" for number in range(20)]
    for identity in identities:
        assert post(first, identity) == 204
    first.stop()
    again = MessageReceiver(path, SECRET)
    again.stop()
    assert again.messages == first.messages
    assert set(identities) == {message.webhook_id for message in again.messages}


def test_a_message_that_somebody_else_signed_is_refused_and_counted(tmp_path):
    receiver = MessageReceiver(tmp_path / "messages.jsonl", SECRET)
    assert post(receiver, "m1", secret="whsec_" + "B" * 32) == 400
    receiver.stop()
    assert receiver.unsigned == 1
    assert receiver.messages == []
