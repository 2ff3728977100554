"""What a soak finds wrong: each kind of loss, and nothing where nothing was lost."""

import pytest

from bench.soak import checks
from bench.soak.receiver import TakenMessage


def document(job="j", identity="i1", status="resolved", *, acknowledged=True, **more):
    seen = {"at": "2026-01-01T00:00:00Z", "by": "soak", "note": ""} if acknowledged else None
    times = dict.fromkeys(("opened_at", "resolved_at", "updated_at"), "2026-01-01T00:00:00Z")
    return {
        "id": identity, "job": job, "status": status, "severity": "critical",
        "handling": {"acknowledged": seen}, **times, **more,
    }  # fmt: skip


def message(kind, webhook_id, incident="i1", job="j"):
    return TakenMessage(webhook_id, f"incident.{kind}", incident, job, "2026-01-01T00:00:00Z")


TOLD = [message("opened", "m1"), message("acknowledged", "m2"), message("resolved", "m3")]


def test_a_whole_round_is_right():
    assert [] == list(checks.payloads({"a"}, {"a", "b"}))
    assert [] == list(checks.incidents(["j"], {"j"}, [document()]))
    assert [] == list(checks.messages(TOLD, [document()]))
    assert [] == list(checks.replayed([document()], [document()]))


def test_an_acknowledged_payload_that_the_journal_lacks_is_found():
    (wrong,) = checks.payloads({"a", "c"}, {"a"})
    assert "1 of 2 acknowledged payloads" in wrong


@pytest.mark.parametrize(
    ("documents", "said"),
    [
        ([], "0 incidents"),
        ([document(), document(identity="i2")], "2 incidents"),
        ([document(status="open")], "its incident is open"),
        ([document(acknowledged=False)], "acknowledgement is lost"),
    ],
)
def test_lost_doubled_and_unfinished_incidents_are_found(documents, said):
    (wrong,) = checks.incidents(["j"], {"j"}, documents)
    assert said in wrong


@pytest.mark.parametrize(
    ("taken", "said"),
    [
        (TOLD[:2], "incident.resolved was sent under 0 ids"),
        (TOLD[1:], "incident.opened was sent under 0 ids"),
        ([*TOLD, message("opened", "m9", incident="i2")], "paged 2 times under other ids"),
        ([TOLD[2], *TOLD[:2]], "in the order"),
    ],
)
def test_lost_doubled_and_disordered_messages_are_found(taken, said):
    assert any(said in wrong for wrong in checks.messages(taken, [document()]))


def test_a_message_that_comes_again_under_its_id_is_counted_and_right():
    assert [] == list(checks.messages([TOLD[0], *TOLD], [document()]))
    assert 1 == checks.repeats([TOLD[0], *TOLD])


def test_a_change_that_the_store_or_the_journal_lacks_is_found():
    assert ["incident i1 is missing in the store"] == list(checks.replayed([], [document()]))
    (wrong,) = checks.replayed([document(status="open")], [document()])
    assert "status is open in the store, resolved in the replay" in wrong
