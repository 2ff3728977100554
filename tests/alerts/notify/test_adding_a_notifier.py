"""The worked example of a notifier, followed step by step as CONTRIBUTING describes it."""

from importlib import util
from pathlib import Path

import pytest

from rankscope.alerts import notify
from rankscope.alerts.ports import Notice

EXAMPLE = Path(__file__).resolve().parents[3] / "docs" / "examples" / "notifier_example.py"


@pytest.fixture
def example():
    """Return the example as a module."""
    spec = util.spec_from_file_location("notifier_example", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def notice():
    data = {"severity": "critical", "summary": "Stuck process: rank 2 on host-b"}
    return Notice("incident.opened", 1_700_000_000.0, data)


def test_before_its_line_in_formats_endpoints_cannot_name_it(example):
    assert f"there is no format {example.NAME!r}; use one of: standard" == notify.refusal(
        example.NAME
    )


def test_with_its_line_in_formats_they_can(example, monkeypatch):
    monkeypatch.setattr(notify, "FORMATS", {**notify.FORMATS, example.NAME: example})
    assert None is notify.refusal(example.NAME)


def test_the_body_holds_what_a_reader_needs_and_is_the_same_at_every_attempt(example, notice):
    expected = b"2023-11-14T22:13:20.000Z critical opened: Stuck process: rank 2 on host-b\n"
    assert expected == example.body(notice) == example.body(notice)


def test_attempts_carry_the_same_id(example, notice):
    first, second = (
        example.headers(webhook_id="m-1", body=example.body(notice), secret="", at=at)
        for at in (1.0, 2.0)
    )
    assert "m-1" == first["webhook-id"] == second["webhook-id"]
