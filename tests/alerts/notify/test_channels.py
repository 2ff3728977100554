"""Each channel's message, its signature against vectors made elsewhere, and its errors."""

import json
from urllib.parse import parse_qs, urlsplit

import pytest

from rankscope.alerts import notify
from rankscope.alerts.notify import dingtalk, feishu, pagerduty, slack, wecom
from rankscope.alerts.ports import NotifiedEndpoint, OutboxNotice

AT = 1_700_000_000.0
CHATS = (slack, feishu, dingtalk, wecom)
KEY = "R" * 32
SECRETS = {
    "standard": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    "pagerduty": KEY,
    "feishu": "SEC-feishu-secret",
    "dingtalk": "SEC5f4dcc3b5aa765d61d8327deb882cf99",
}


def _endpoint(name, url="https://h.example/hook?access_token=t"):
    return NotifiedEndpoint(id="w", url=url, secret=SECRETS.get(name, ""), format=name)


def _sent(module, notice, at=AT):
    return json.loads(module.request(_endpoint(module.NAME), notice, at).body)


# openssl dgst -sha256 -mac HMAC made these, not the code under test.


def test_feishu_is_signed_with_time_and_secret_as_the_key(new_notice):
    message = _sent(feishu, new_notice())
    assert "1700000000" == message["timestamp"]
    assert "xPlEeWvR0bvV8wVyOAMcPCwMzp8FiYc4h72O26kA8FY=" == message["sign"]


def test_dingtalk_is_signed_in_its_address_with_the_secret_as_the_key(new_notice):
    request = dingtalk.request(_endpoint("dingtalk"), new_notice(), AT)
    assert parse_qs(urlsplit(request.url).query) == {
        "access_token": ["t"],
        "timestamp": ["1700000000000"],
        "sign": ["VwvsJ5+HwALRrcWztlmNRUBhzzeYnDSPIAlnXfmI2O0="],
    }
    assert "VwvsJ5%2BHwALRrcWztlmNRUBhzzeYnDSPIAlnXfmI2O0%3D" in request.url


def test_a_bot_without_a_secret_gets_no_signature(new_notice):
    bare = NotifiedEndpoint(id="w", url="https://h/x?access_token=t", secret="", format="dingtalk")
    assert bare.url == dingtalk.request(bare, new_notice(), AT).url
    assert set(json.loads(feishu.request(bare, new_notice(), AT).body)) == {"msg_type", "card"}


@pytest.mark.parametrize("name", notify.FORMATS)
def test_attempts_differ_in_their_signatures_only(name, new_notice, digest):
    format_ = notify.FORMATS[name]
    notice = new_notice()
    if format_.TRAITS.delivery == "state":
        notice = OutboxNotice("state", AT, {"incidents": [notice.data], "before": []}, id="msg_1")
    first, second = (format_.request(_endpoint(name), notice, at) for at in (AT, AT + 600))
    assert set(first.headers) == set(second.headers)
    assert all(text.isascii() and text.isprintable() for text in first.headers.values())
    if name == "feishu":  # which signs in its body
        assert _sent(feishu, notice)["card"] == _sent(feishu, notice, AT + 600)["card"]
    elif name != "alertmanager_api":  # whose alerts end unless they are repeated
        assert first.body == second.body


@pytest.mark.parametrize("name", notify.FORMATS)
def test_every_format_has_a_test_message(name):
    notice = OutboxNotice("webhook.test", AT, {"webhook": "w", "text": "Nothing is wrong."}, id="m")
    body = notify.FORMATS[name].request(_endpoint(name), notice, AT).body
    assert "Nothing is wrong." in body.decode()


HOSTILE = (
    "@all @everyone <!channel> <@U1> <at id=all></at> *b* [x](http://e) \x1b[2J\u202e\nDo now: rm"
)


@pytest.mark.parametrize("module", CHATS)
def test_names_of_tenants_are_letters_and_nothing_else(module, new_notice):
    message = _sent(module, new_notice(name=HOSTILE, jobs=(HOSTILE,), summary=HOSTILE))
    text = json.dumps(message, ensure_ascii=False)
    for character in ("\\u001b", "\\u202e", "\x1b", "\u202e"):
        assert character not in text
    if module is slack:
        assert "<" not in message["text"]
        assert "&lt;!channel&gt;" in message["text"]
        kinds = {block.get("text", {}).get("type") for block in message["blocks"]}
        assert kinds <= {"plain_text", None}
    elif module is feishu:
        tags = [row["text"]["tag"] for row in message["card"]["elements"] if "text" in row]
        assert {"plain_text"} == {*tags, message["card"]["header"]["title"]["tag"]}
    else:
        content = message["text"]["content"]
        assert "text" == message["msgtype"]
        assert "@" not in content
        assert 1 == sum(line.startswith("Do now: ") for line in content.split("\n"))
        assert not message.get("at", {}).get("isAtAll")
        assert not message["text"].get("mentioned_list")


LONG = "\u4e2d\U0001f600" * 20_000


def test_no_message_is_longer_than_its_channel_takes(new_notice):
    notice = new_notice(name=LONG, jobs=(LONG,) * 9, summary=LONG)
    assert len(_sent(wecom, notice)["text"]["content"].encode()) <= 2048
    assert "#/incidents/" in _sent(wecom, notice)["text"]["content"].split("\n")[-1]
    for module in (dingtalk, feishu):
        assert len(module.request(_endpoint(module.NAME), notice, AT).body) <= 20_000
    blocks = _sent(slack, notice)["blocks"]
    assert len(blocks) <= 50
    assert len(blocks[0]["text"]["text"]) <= 150
    assert all(len(row["text"]["text"]) <= 3000 for row in blocks if row["type"] == "section")
    assert len(_sent(pagerduty, notice)["payload"]["summary"]) <= 1024


@pytest.mark.parametrize(
    ("word", "action"),
    [("opened", "trigger"), ("updated", "trigger"), ("acknowledged", "acknowledge"),
     ("resolved", "resolve")],
)  # fmt: skip
def test_pagerduty_gets_one_alert_an_incident_from_trigger_to_resolve(new_notice, word, action):
    event = _sent(pagerduty, new_notice(word))
    assert (action, "msg_1", KEY) == (
        event["event_action"],
        event["dedup_key"],
        event["routing_key"],
    )
    if action == "trigger":
        payload = event["payload"]
        assert ("critical", "run-1", "switch leaf-3", "run-1", "network.switch") == tuple(
            payload[name] for name in ("severity", "source", "component", "group", "class")
        )
        assert event["links"][0]["href"].endswith("/#/incidents/a1000000000000000000")


def test_pagerduty_resolves_what_came_at_once_when_all_of_it_is_over(digest, new_document):
    over = {"resolved": {"critical": 3}}
    known = {"acknowledged": {"warning": 1}, "resolved": {"critical": 2}}
    new, news = ["incident.opened"], ["incident.acknowledged", "incident.resolved"]
    found = []
    for counts, happenings in (
        (digest.data["counts"], new),
        (known, new),
        (known, news),
        (over, news),
    ):
        data = {"counts": counts, "happenings": happenings, "incidents": [new_document()]}
        found.append(pagerduty.action(OutboxNotice("digest", AT, data, id="m")))
    assert ["trigger", "trigger", "acknowledge", "resolve"] == found


@pytest.mark.parametrize(
    ("module", "status", "body", "accepted", "busy", "text"),
    [
        (feishu, 200, '{"code":0,"msg":"success"}', True, False, ""),
        (feishu, 200, '{"StatusCode":0,"StatusMessage":"success"}', True, False, ""),
        (feishu, 200, '{"code":19021,"msg":"sign match fail"}', False, False, "clock"),
        (feishu, 200, '{"code":9499,"msg":"Bad Request"}', False, False, "9499"),
        (feishu, 200, '{"code":19022,"msg":"Ip Not Allowed"}', False, False, "allowed addresses"),
        (feishu, 200, '{"code":19024,"msg":"Key Words Not Found"}', False, False, "keyword"),
        (feishu, 200, '{"code":11232,"msg":"too many"}', False, True, "too many"),
        (feishu, 200, "<html>login</html>", False, False, "another service"),
        (feishu, 502, "", False, True, "502"),
        (dingtalk, 200, '{"errcode":0,"errmsg":"ok"}', True, False, ""),
        (dingtalk, 200, '{"errcode":310000,"errmsg":"sign not match"}', False, False, "security"),
        (dingtalk, 200, '{"errcode":130101,"errmsg":"send too fast"}', False, True, "20 messages"),
        (dingtalk, 200, '{"errcode":90030,"errmsg":"too fast"}', False, True, "20 messages"),
        (wecom, 200, '{"errcode":0,"errmsg":"ok"}', True, False, ""),
        (wecom, 200, '{"errcode":45009,"errmsg":"api freq out of limit"}', False, True, "45009"),
        (wecom, 200, '{"errcode":93000,"errmsg":"invalid webhook url"}', False, False, "key"),
        (wecom, 200, '{"errcode":40058,"errmsg":"x"}', False, False, "cannot read"),
        (slack, 200, "ok", True, False, ""),
        (slack, 400, "invalid_payload", False, False, "400"),
        (slack, 403, "action_prohibited", False, False, "403"),
        (slack, 404, "no_service", False, False, "no_service"),
        (slack, 429, "", False, True, "429"),
        (pagerduty, 202, '{"status":"success"}', True, False, ""),
        (pagerduty, 400, '{"errors":["Length of routing_key"]}', False, False, "routing_key"),
        (pagerduty, 400, "no json", False, False, "400"),
        (pagerduty, 429, "", False, True, "429"),
    ],
)  # fmt: skip
def test_what_an_answer_means(module, status, body, accepted, busy, text):
    outcome = module.outcome(status, body.encode())
    assert (accepted, busy) == (outcome.accepted, outcome.unavailable and not accepted)
    assert text in (outcome.error or "")


def test_a_channel_that_was_removed_gets_nothing_more():
    assert slack.outcome(404, b"no_service").disabled
    assert slack.outcome(410, b"channel_is_archived").disabled
    assert not slack.outcome(404, b"channel_not_found").disabled


def test_dingtalk_is_left_alone_while_it_blocks():
    assert 600.0 == dingtalk.outcome(200, b'{"errcode":130101}').retry_after


@pytest.mark.parametrize(
    ("name", "secret", "text"),
    [
        ("standard", "", "format standard needs a secret: write whsec_"),
        ("standard", "hunter2", "write whsec_"),
        ("standard", SECRETS["standard"], None),
        ("alertmanager", "", None),
        ("alertmanager", "a-bearer-token", None),
        ("alertmanager", SECRETS["standard"], None),
        ("alertmanager", "two words", "bearer token"),
        ("alertmanager_api", "", None),
        ("slack", "", None),
        ("slack", "x", "leave the secret out: slack takes none"),
        ("wecom", "x", "leave the secret out"),
        ("feishu", "", None),
        ("dingtalk", "SECabc", None),
        ("pagerduty", "", "needs a secret: write the integration's routing key"),
        ("pagerduty", "short", "32 letters and digits"),
        ("pagerduty", KEY, None),
    ],
)
def test_what_a_format_needs_is_said(name, secret, text):
    found = notify.bad_secret(name, secret)
    assert (text is None) == (found is None)
    assert (text or "") in (found or "")


def test_a_rate_above_the_channels_own_is_refused():
    assert None is notify.bad_rate("dingtalk", 20)
    assert "dingtalk takes at most 20 messages a minute" == notify.bad_rate("dingtalk", 21)
    assert "has no rate" in (notify.bad_rate("standard", 5) or "")


def test_a_format_that_is_not_there_is_refused_with_those_that_are():
    assert "there is no format 'smoke'; use one of: standard, alertmanager, " in (
        notify.refusal("smoke") or ""
    )
