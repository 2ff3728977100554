"""The worked example of a notifier, followed step by step as CONTRIBUTING describes it."""

import pytest
from tests.loading import EXAMPLES, loaded

from rankscope.alerts import notify
from rankscope.alerts.ports import NotifiedEndpoint, OutboxNotice


@pytest.fixture
def example():
    return loaded(EXAMPLES / "notifier_example.py")


@pytest.fixture
def notice():
    data = {"severity": "critical", "summary": "Stuck process: rank 2 on host-b"}
    return OutboxNotice("incident.opened", 1_700_000_000.0, data, id="m-1")


ENDPOINT = NotifiedEndpoint(id="w", url="http://h/", secret="", format="text")


def test_before_its_line_in_formats_endpoints_cannot_name_it(example):
    assert f"there is no format {example.NAME!r}; use one of: " + ", ".join(notify.FORMATS) == (
        notify.refusal(example.NAME)
    )


def test_with_its_line_in_formats_they_can(example, monkeypatch):
    monkeypatch.setattr(notify, "FORMATS", {**notify.FORMATS, example.NAME: example})
    assert None is notify.refusal(example.NAME)
    assert None is notify.bad_secret(example.NAME, "")
    assert "leave the secret out" in (notify.bad_secret(example.NAME, "x") or "")


def test_the_request_holds_what_a_reader_needs_and_is_the_same_at_every_attempt(example, notice):
    expected = b"2023-11-14T22:13:20.000Z critical opened: Stuck process: rank 2 on host-b\n"
    first, second = (example.request(ENDPOINT, notice, at) for at in (1.0, 2.0))
    assert expected == first.body == second.body
    assert "m-1" == first.headers["webhook-id"] == second.headers["webhook-id"]


@pytest.mark.parametrize(("status", "accepted"), [(204, True), (302, False), (500, False)])
def test_the_outcome_is_what_the_answer_means(example, status, accepted):
    assert accepted is example.outcome(status, b"").accepted
