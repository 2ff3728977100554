"""Endpoints that subscribe to causes, in the store: when their first message is written."""

import dataclasses
import json
import sqlite3

import alembic.command
import alembic.config
import pytest
from pydantic import ValidationError
from sqlalchemy import create_engine

from rankscope.alerts.actions import PersonAction
from rankscope.alerts.lifecycle import IncidentChange
from rankscope.collector.journal.actions import RecordedAction
from rankscope.collector.settings.store import WebhookSettings
from rankscope.collector.store import database
from rankscope.collector.store.store import IncidentDatabaseStore

T0 = 1_700_000_000.0
SECRET = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"
HOOK = {"url": "http://127.0.0.1:9/hook", "secret": SECRET}


@pytest.fixture
def commit(store, new_incident):
    """Return a function that commits a change of an incident with this first cause."""

    def change(kind, seconds, *, notify=False, status="stable", **more):
        at = T0 + seconds
        made = new_incident(updated_at=at, **more)
        cause = dataclasses.replace(made.root_cause, status=status)
        incident = dataclasses.replace(made, root_cause=cause)
        store.commit([IncidentChange(f"incident.{kind}", incident, notify)], at)  # type: ignore[arg-type]

    return change


def test_a_cause_that_becomes_stable_is_sent_though_it_is_no_news_to_people(
    commit, add_webhook, queued
):
    add_webhook()
    add_webhook("hook", faults=("host.*",), min_confidence="high")
    commit("opened", 5, status="provisional", notify=True)
    assert ([("opened", "pending")], []) == (queued(), queued("hook"))
    commit("updated", 20)
    commit("updated", 30)
    assert ([("opened", "pending")], [("opened", "pending")]) == (queued(), queued("hook"))
    commit("updated", 95, notify=True, fault="gpu.slow")
    assert [("opened", "pending"), ("updated", "pending")] == queued("hook")


def test_another_fault_is_not_sent(commit, add_webhook, queued):
    add_webhook("hook", faults=("gpu.lost",))
    commit("opened", 5, notify=True)
    commit("updated", 20)
    assert [] == queued("hook")


def test_what_a_silence_holds_back_is_recorded_once(store, commit, add_webhook, queued):
    add_webhook("hook", faults=("host.*",))
    detail = {
        "matchers": [["job", ["*"], False]],
        "starts_at": T0,
        "ends_at": T0 + 900,
        "comment": "",
    }
    store.enter(RecordedAction.new(PersonAction("silence", None, T0, "ada", detail)), [], T0)
    for seconds in (5, 20, 30):
        commit("opened" if seconds == 5 else "updated", seconds)
    assert [("opened", "suppressed")] == queued("hook")


def test_settings_and_rows_keep_what_is_subscribed_to(tmp_path):
    row = WebhookSettings.model_validate(
        {**HOOK, "faults": ["gpu.*"], "min_probability": 0.9, "min_confidence": "high"}
    )
    store = IncidentDatabaseStore(f"sqlite:///{tmp_path / 'a.db'}", webhooks=[row])
    (kept,) = store.webhooks()
    store.close()
    assert (("gpu.*",), 0.9, "high") == (
        kept.endpoint.faults, kept.endpoint.min_probability, kept.endpoint.min_confidence,
    )  # fmt: skip


def test_a_pattern_that_fits_no_fault_is_refused():
    with pytest.raises(ValidationError, match=r"'gpu\.lots' fits no fault id"):
        WebhookSettings.model_validate({**HOOK, "faults": ["gpu.lots"]})


@pytest.fixture
def old(tmp_path):
    """Return the file of a database of the first version."""
    path = tmp_path / "old.db"
    engine = create_engine(f"sqlite:///{path}")
    config = alembic.config.Config()
    config.set_main_option("script_location", str(database._MIGRATIONS))
    with engine.begin() as db:
        config.attributes["connection"] = db
        alembic.command.upgrade(config, "0001")
    engine.dispose()
    return path


def test_endpoints_of_the_first_version_want_every_cause(old):
    with sqlite3.connect(old) as db:
        db.execute(
            "INSERT INTO webhooks (id, url, secret, format, events, jobs, severities, origin, "
            "enabled, not_before, created_at) VALUES ('w', 'http://h/', 's', 'standard', "
            "'[\"incident.opened\"]', '[]', '[\"critical\"]', 'api', 1, 0, 0)"
        )
    db.close()
    store = IncidentDatabaseStore(f"sqlite:///{old}")
    (kept,) = store.webhooks()
    store.close()
    assert not kept.endpoint.subscribes


def test_earlier_feedback_counts_by_its_last_word(old):
    with sqlite3.connect(old) as db:
        for identity in ("a", "b", "c"):
            db.execute(
                "INSERT INTO incidents VALUES (?, 'run-1', 'open', 'critical', 'gpu.lost', "
                "0, 0, 0, NULL, NULL, 0, 'open', 0, ?, 1)",
                (identity, json.dumps({"root_cause": {"hypotheses": []}})),
            )
        for identity, verdict, fault in (
            ("a", "wrong", "network.cable_errors"),
            ("a", "correct", None),
            ("b", "wrong", "network.cable_errors"),
            ("c", "unsure", None),
        ):
            details = json.dumps({"verdict": verdict, "fault": fault, "entity": None})
            db.execute(
                "INSERT INTO actions (incident, kind, at, author, note, details) "
                "VALUES (?, 'feedback', 1, 'ada', '', ?)",
                (identity, details),
            )
    db.close()
    store = IncidentDatabaseStore(f"sqlite:///{old}")
    assert {"gpu.lost": 1, "network.cable_errors": 1} == store.confirmed()
    store.close()
