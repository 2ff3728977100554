import contextlib
import http.client
import socket
import threading
import time

import pytest

from rankscope.agent import scraping as scraping_module
from rankscope.agent.exposition import ExpositionPage
from rankscope.agent.health import AgentHealth
from rankscope.agent.latest import LatestValues
from rankscope.agent.scraping import ScrapeServer
from rankscope.vocabulary.samples import Sample, TelemetryResource, attributes


@pytest.fixture
def scraping():
    latest = LatestValues(period_seconds=5.0)
    for rank in range(100):
        mine = attributes({"rank": rank})
        one = [Sample("training.loss", 1.0, time.time(), mine)]
        latest.receive(rank, TelemetryResource(host="n", job="j"), one, time.time())
    page = ExpositionPage(latest=latest, health=AgentHealth(), groups=False, max_series=2000)
    serving = ScrapeServer("127.0.0.1:0", page=page, now=time.time)
    yield serving
    serving.close()


def ask(port: int, path: str, method: str = "GET") -> tuple[int, str | None, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request(method, path)
    response = connection.getresponse()
    answer = (response.status, response.getheader("Content-Type"), response.read())
    connection.close()
    return answer


def test_the_page_is_prometheus_text(scraping):
    status, kind, body = ask(scraping.port, "/metrics?name[]=x")
    assert status == 200
    assert str(kind).startswith("text/plain; version=0.0.4")
    assert body.count(b"\ntraining_loss{") == 100


def test_health_is_answered_and_other_places_say_where_the_page_is(scraping):
    assert ask(scraping.port, "/healthz")[0] == 200
    assert ask(scraping.port, "/health")[0] == 200
    status, _, body = ask(scraping.port, "/")
    assert (status, b"/metrics" in body) == (404, True)
    assert ask(scraping.port, "/metrics", "HEAD")[2] == b""
    assert ask(scraping.port, "/metrics", "POST")[0] == 501


def test_many_scrapers_at_once_share_renderings(scraping, monkeypatch):
    rendered = []
    real = scraping._rendering._page.render

    def render(now):
        rendered.append(now)
        return real(now)

    monkeypatch.setattr(scraping._rendering._page, "render", render)
    answers = []
    threads = [
        threading.Thread(target=lambda: answers.append(ask(scraping.port, "/metrics")[0]))
        for _ in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [200] * 20
    assert len(rendered) < 20


def test_a_client_that_says_nothing_keeps_nobody_else_waiting(scraping):
    silent = [http.client.HTTPConnection("127.0.0.1", scraping.port) for _ in range(8)]
    for connection in silent:
        connection.connect()
    assert ask(scraping.port, "/metrics")[0] == 200
    for connection in silent:
        connection.close()


def test_who_sends_drop_by_drop_keeps_no_probe_of_liveness_waiting(scraping):
    with contextlib.ExitStack() as dripping:
        for _ in range(2 * scraping_module._AT_ONCE):
            opened = socket.create_connection(("127.0.0.1", scraping.port))
            dripping.enter_context(opened).sendall(b"GET /metrics HTTP/1.1\r\nX: y\r\n")
        for _ in range(3):
            assert 200 == ask(scraping.port, "/healthz")[0]


def test_a_client_that_keeps_its_connection_waits_for_no_acknowledgement(scraping, monkeypatch):
    """Two small writes on a kept connection cost 40 ms, unless each may leave at once."""
    seen = []
    answer = scraping_module._ScrapeHandler._answer

    def watched(self, *args):
        seen.append(self.connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        answer(self, *args)

    monkeypatch.setattr(scraping_module._ScrapeHandler, "_answer", watched)
    connection = http.client.HTTPConnection("127.0.0.1", scraping.port, timeout=60)
    connection.request("GET", "/healthz")
    connection.getresponse().read()
    connection.close()
    assert [True] == [bool(one) for one in seen]
