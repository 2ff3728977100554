"""What people did, laid over the state machine's document."""

from rankscope.collector.store.documents import HandlingAction, shown
from rankscope.vocabulary.times import rfc3339

AT = 1_700_000_000.0


def _given(at, verdict):
    return {
        "at": rfc3339(at),
        "by": "ann",
        "verdict": verdict,
        "fault": None,
        "entity": None,
        "note": "",
    }


def _document(*feedback):
    return {
        "status": "open",
        "updated_at": rfc3339(AT),
        "resolved_at": None,
        "timeline": [],
        "root_cause": {"status": "stable"},
        "handling": {
            "acknowledged": None, "assignee": None, "resolved": None, "feedback": list(feedback),
        },
    }  # fmt: skip


def _action(kind, at, verdict=None):
    return HandlingAction(kind, at, "bob", "", {"verdict": verdict, "fault": None, "entity": None})


def _verdicts(document, *actions):
    return [row["verdict"] for row in shown(document, actions)["handling"]["feedback"]]


def test_feedback_is_in_the_order_in_which_it_was_given_whoever_took_it():
    """The machine had given up the incident at the first, and had it again at the second."""
    document = _document(_given(AT + 9, "wrong"))
    assert _verdicts(document, _action("feedback", AT + 5, "correct")) == ["correct", "wrong"]
    assert shown(document, [_action("feedback", AT + 5, "correct")])["root_cause"] == {
        "status": "stable"
    }


def test_what_is_withdrawn_is_what_was_given_last_before_it():
    document = _document(_given(AT + 1, "unsure"), _given(AT + 9, "wrong"))
    assert _verdicts(document, _action("withdraw", AT + 5)) == ["wrong"]
    assert _verdicts(document, _action("withdraw", AT + 10)) == ["unsure"]
