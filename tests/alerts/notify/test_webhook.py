"""The standard format: signed as the Standard Webhooks specification says."""

import base64
import hashlib
import hmac
import time

from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks import Webhook

from rankscope.alerts.notify import webhook
from rankscope.alerts.ports import NotifiedEndpoint, OutboxNotice

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


ENDPOINT = NotifiedEndpoint(id="w", url="http://h/hook", secret=SECRET, format="standard")


def test_the_vector_of_the_specification_is_reproduced():
    """Computed by hand from the specification: HMAC-SHA256 over id, timestamp and body."""
    body = b'{"test": 2432232314}'
    identity = "msg_p5jXN8AQM9LWM0D4loKWxJek"
    headers = webhook.signed(SECRET, identity, body, 1614265330.9)
    key = base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    signed = b"msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330." + body
    digest = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{digest}"
    assert digest == "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    assert headers["webhook-timestamp"] == "1614265330"
    assert headers["webhook-id"] == identity


@given(st.text(), st.dictionaries(st.text(), st.text()))
def test_every_message_verifies_and_comes_back(word, data):
    now = time.time()
    notice = OutboxNotice("incident.opened", 1_700_000_000.0, {"word": word, **data}, id="msg_1")
    request = webhook.request(ENDPOINT, notice, now)
    verified = Webhook(SECRET).verify(request.body, dict(request.headers))
    assert verified == {
        "type": "incident.opened",
        "timestamp": "2023-11-14T22:13:20.000Z",
        "data": {"word": word, **data},
    }


@given(st.text(), st.floats(0, 4e9), st.dictionaries(st.text(), st.floats() | st.text()))
def test_a_message_that_was_kept_comes_back_byte_for_byte(word, at, data):
    body = webhook.message(OutboxNotice("incident.opened", at, {"word": word, **data}))
    assert body == webhook.message(webhook.notice(body))
