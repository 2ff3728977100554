"""The example of a recovery controller: it takes what is signed, once, and prints a plan."""

import http.server
import json
import threading

import httpx
import pytest
from tests.loading import EXAMPLES, loaded

from rankscope.alerts.notify import webhook

SECRET = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"
NOW = 1_700_000_000.0


@pytest.fixture
def example():
    return loaded(EXAMPLES / "recovery_controller.py")


def message(type_="incident.opened", host="gpu-1"):
    entity = {"type": "gpu", "id": "GPU-3", "host": host, "ranks": [3]}
    first = {"fault": "gpu.lost", "entity": entity, "confidence": "high"}
    data = {"id": "i1", "jobs": ["run-1"], "root_cause": {"hypotheses": [first]}}
    return {"type": type_, "data": data}


def test_what_rankscope_signs_is_verified_and_nothing_else(example):
    body = json.dumps(message()).encode()
    headers = webhook.signed(SECRET, "msg_1", body, NOW)
    other = "whsec_" + "QUJD" * 8
    assert example.verified(headers, body, SECRET, NOW + 3)
    assert not example.verified(headers, body + b" ", SECRET, NOW)
    assert not example.verified(headers, body, other, NOW)
    assert not example.verified(headers, body, SECRET, NOW + 301)
    assert not example.verified({**headers, "webhook-id": "msg_2"}, body, SECRET, NOW)
    assert not example.verified({}, body, SECRET, NOW)


def test_a_host_is_evicted_and_the_job_restarted_without_it(example):
    assert ["cordon gpu-1: gpu.lost, high confidence", "stop run-1"] == example.plan(message())[:2]
    (one,) = example.plan(message(host=None))
    assert one.startswith("trigger a checkpoint of run-1")
    (one,) = example.plan(message("incident.resolved"))
    assert one.startswith("let gpu-1 back")


def test_a_message_that_comes_twice_is_acted_on_once(example, monkeypatch, capsys):
    monkeypatch.setattr(example.Handler, "secret", SECRET)
    monkeypatch.setattr(example.time, "time", lambda: NOW)
    body = json.dumps(message()).encode()
    headers = webhook.signed(SECRET, "msg_1", body, NOW)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), example.Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{server.server_port}/"
        codes = [httpx.post(url, content=body, headers=headers).status_code for _ in range(2)]
        forged = httpx.post(url, content=body.replace(b"gpu-1", b"gpu-2"), headers=headers)
        server.shutdown()
        thread.join()
    assert ([204, 204], 401) == (codes, forged.status_code)
    assert 1 == capsys.readouterr().out.count("incident.opened i1")
