"""The standard format: signed as the Standard Webhooks specification says."""

import base64
import hashlib
import hmac
import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks import Webhook

from rankscope.alerts import notify
from rankscope.alerts.notify import webhook
from rankscope.alerts.ports import Notice

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def test_the_vector_of_the_specification_is_reproduced():
    """Computed by hand from the specification: HMAC-SHA256 over id, timestamp and body."""
    body = b'{"test": 2432232314}'
    headers = webhook.headers(
        webhook_id="msg_p5jXN8AQM9LWM0D4loKWxJek", body=body, secret=SECRET, at=1614265330.9
    )
    key = base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    signed = b"msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330." + body
    digest = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{digest}"
    assert digest == "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    assert headers["webhook-timestamp"] == "1614265330"
    assert headers["webhook-id"] == "msg_p5jXN8AQM9LWM0D4loKWxJek"


@given(st.text(), st.dictionaries(st.text(), st.text()))
def test_every_message_verifies_and_comes_back(word, data):
    now = time.time()
    body = webhook.body(Notice("incident.opened", 1_700_000_000.0, {"word": word, **data}))
    headers = webhook.headers(webhook_id="msg_1", body=body, secret=SECRET, at=now)
    verified = Webhook(SECRET).verify(body, headers)
    assert verified == {
        "type": "incident.opened",
        "timestamp": "2023-11-14T22:13:20.000Z",
        "data": {"word": word, **data},
    }


def test_the_body_is_the_same_bytes_for_the_same_notice():
    notice = Notice("incident.opened", 1.5, {"b": 1, "a": [None, "\u00fc"]})
    assert webhook.body(notice) == webhook.body(notice)
    assert json.loads(webhook.body(notice))["data"] == {"b": 1, "a": [None, "\u00fc"]}


@pytest.mark.parametrize("name", notify.FORMATS)
def test_every_format_of_the_list_writes_body_and_headers(name):
    notice = Notice("incident.opened", 1.0, {})
    body = notify.FORMATS[name].body(notice)
    headers = notify.FORMATS[name].headers(webhook_id="m", body=body, secret=SECRET, at=1.0)
    assert isinstance(body, bytes)
    assert all(text.isascii() and text.isprintable() for text in headers.values())
    assert notify.refusal(name) is None


def test_what_is_not_spoken_is_refused_with_what_is():
    assert "not in this version; use one of: standard" in (notify.refusal("slack") or "")
    assert "there is no format 'smoke'" in (notify.refusal("smoke") or "")
