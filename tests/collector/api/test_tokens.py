"""Tokens as settings hold them: digests, several at once, an end."""

import hashlib
import json

import pytest

from rankscope.cli import main
from rankscope.collector.settings.collector import CollectorSettings

TOKEN = "rks_a-token-that-nobody-has"
DIGEST = "sha256:" + hashlib.sha256(TOKEN.encode()).hexdigest()
BEARER = {"authorization": f"Bearer {TOKEN}"}


def _tokens(*rows):
    return {"api": {"tokens": list(rows)}}


def test_a_digest_in_the_settings_lets_its_token_pass_and_is_none_itself(new_client):
    client = new_client(**_tokens({"token": DIGEST, "role": "read"}))
    assert client.get("/api/v1/jobs", headers=BEARER).status_code == 200
    itself = {"authorization": f"Bearer {DIGEST}"}
    assert client.get("/api/v1/jobs", headers=itself).status_code == 401


def test_several_tokens_are_valid_at_once_so_that_they_can_be_changed(new_client, tokens):
    client = new_client(
        **_tokens({"token": DIGEST, "role": "read"}, {"token": tokens["read"], "role": "read"})
    )
    for token in (TOKEN, tokens["read"]):
        headers = {"authorization": f"Bearer {token}"}
        assert client.get("/api/v1/jobs", headers=headers).status_code == 200


def test_an_expired_token_is_401_and_says_so(new_client, clock):
    row = {"token": DIGEST, "role": "read", "expires_at": "2023-11-14T22:13:30Z"}
    client = new_client(**_tokens(row))
    assert client.get("/api/v1/jobs", headers=BEARER).status_code == 200
    clock.at += 20.0
    answer = client.get("/api/v1/jobs", headers=BEARER)
    assert (answer.status_code, answer.json()["detail"]) == (401, "this token has expired")


@pytest.mark.parametrize("text", ["sha256:", "sha256:abc", "sha256:" + "g" * 64, "short"])
def test_what_is_neither_a_digest_nor_a_long_token_stops_the_start(text):
    with pytest.raises(ValueError, match="token"):
        CollectorSettings.model_validate(_tokens({"token": text, "role": "read"}))


def test_a_new_token_is_shown_once_with_the_entry_that_knows_it(capsys, new_client):
    words = ["tokens", "new", "--role", "read", "--jobs", "pre-*", "--name", "ci", "--json"]
    assert main.main(words) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["entry"]["jobs"] == ["pre-*"]
    assert shown["token"] not in json.dumps(shown["entry"])
    client = new_client(**_tokens(shown["entry"]))
    headers = {"authorization": f"Bearer {shown['token']}"}
    session = client.get("/api/v1/session", headers=headers).json()
    assert (session["name"], session["jobs"]) == ("ci", ["pre-*"])
