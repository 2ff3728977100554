"""Checks on request: what an agent lets be asked of its node, and how it runs them."""

import json
import sys
from typing import Any

import pytest
from tests.serving import Answer, served

from rankscope.agent.requests.asking import CollectorCallError, RequestClient
from rankscope.agent.requests.checking import CheckService
from rankscope.agent.settings import CheckingSettings

ORDER = {"id": "a1", "check": "cpu", "incident": "5b8e1f0c", "until": 2000.0}


class Collector:
    """Asks for what a test puts in, and notes what comes back."""

    def __init__(self, *asked: object) -> None:
        self.asked: list[object] = list(asked)
        self.refused: list[tuple[str, str]] = []

    def checks(self, host: str) -> list[object]:
        assert "host-a" == host
        asked, self.asked = self.asked, []
        return asked

    def refuse_check(self, identity: str, text: str) -> None:
        self.refused.append((identity, text))


@pytest.fixture
def service(tmp_path):
    """Return a function that makes a service whose checks are a program of Python, and its file."""
    noted = tmp_path / "noted.json"

    def make(collector: Any, program: str = "", now: Any = lambda: 1000.0, **settings: Any):
        write = "import json, os, sys; json.dump([sys.argv[1:], os.environ['RANKSCOPE_URL']], "
        write += f"open({str(noted)!r}, 'w')); "
        return CheckService(
            CheckingSettings.model_validate({"allowed": True, **settings}),
            host="host-a",
            collector=collector,
            environment={"RANKSCOPE_URL": "http://collector"},
            now=now,
            command=(sys.executable, "-c", write + program),
        )

    return make, noted


def test_a_check_that_is_asked_for_runs_as_rankscope_check_does(service):
    make, noted = service
    collector = Collector(ORDER)
    make(collector).step()
    words, url = json.loads(noted.read_text())
    assert [
        "--only", "cpu", "--incident", "5b8e1f0c", "--host", "host-a", "--seconds", "90", "--json",
    ] == words  # fmt: skip
    assert ("http://collector", []) == (url, collector.refused)


@pytest.mark.parametrize(
    ("order", "settings", "why"),
    [
        ({**ORDER, "check": "cpu; rm -rf /"}, {}, "the request is invalid"),
        ({**ORDER, "incident": "../../x"}, {}, "the request is invalid"),
        ({"id": "a1"}, {}, "the request is invalid"),
        (ORDER, {"checks": ["matmul", "mem*"]}, "no such check (checking.checks)"),
    ],
)
def test_what_an_agent_does_not_allow_is_refused_and_not_run(service, order, settings, why):
    make, noted = service
    collector = Collector(order)
    make(collector, **settings).step()
    ((identity, text),) = collector.refused
    assert ("a1", True, False) == (identity, why in text, noted.exists())


def test_a_second_check_waits_for_its_time(service):
    make, _ = service
    now = [1000.0]
    collector = Collector(ORDER)
    one = make(collector, now=lambda: now[0])
    one.step()
    collector.asked = [{**ORDER, "id": "a2"}]
    now[0] += 30.0
    one.step()
    assert [("a2", True)] == [
        (identity, "checked 30 s ago" in text) for identity, text in collector.refused
    ]
    collector.asked = [{**ORDER, "id": "a3"}]
    now[0] += 31.0
    one.step()
    assert 1 == len(collector.refused)


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("sys.exit('no numpy here')", "no numpy here"),
        ("sys.exit(2)", "it ended with 2"),
        ("sys.stderr.write('the results are not kept: 401')", "the results are not kept: 401"),
    ],
)
def test_why_a_check_gave_no_result_is_told(service, program, why):
    make, _ = service
    collector = Collector(ORDER)
    make(collector, program).step()
    assert [("a1", why)] == collector.refused


@pytest.mark.parametrize("row", [3, None, [], {"id": "../x", "check": "cpu"}])
def test_what_is_no_request_is_passed_over(service, row):
    make, noted = service
    collector = Collector(row)
    make(collector).step()
    assert ([], False) == (collector.refused, noted.exists())


def test_a_collector_that_does_not_answer_is_asked_again(service):
    make, _ = service

    class Away:
        def checks(self, host: str) -> list[object]:
            raise CollectorCallError(f"nobody is there for {host}")

    one = make(Away())
    one.step()
    one.step()


def test_requests_are_fetched_and_refused_over_http():
    seen = []

    def collector(request):
        seen.append((request.path, request.body))
        return Answer(json.dumps({"items": [ORDER]}).encode(), "application/json")

    with served(collector) as url:
        asked = RequestClient(url, timeout=5.0)
        assert [ORDER] == asked.checks("host/a")
        asked.refuse_check("a1", "no")
    assert [
        ("/api/v1/agents/host%2Fa/requests?what=checks", b""),
        ("/api/v1/checks/requests/a1/failure", b'{"text": "no"}'),
    ] == [(path, body or b"") for path, body in seen]
