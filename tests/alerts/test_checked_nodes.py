"""Which results of active checks an incident's timeline has."""

from rankscope.alerts import checked_nodes
from rankscope.vocabulary.samples import Event, TelemetryResource

OPENED = 1_700_000_000.0


def result(verdict, *, at=10.0, host="gpu-1", **more):
    pairs = {"check": "matmul", "device": "GPU-1", "verdict": verdict, "reason": "why", **more}
    return Event("check.result", OPENED + at, pairs, TelemetryResource(host))


def texts(*events):
    return [note.text for note in checked_nodes.notes(events, ("gpu-1",), OPENED)]


def test_what_is_slow_or_failed_is_noted():
    assert ["check matmul of GPU-1 on gpu-1: slow: why"] == texts(result("slow"))
    (note,) = checked_nodes.notes([result("failed")], ("gpu-1",), OPENED)
    assert "check" == note.kind


def test_what_passed_is_news_only_where_it_was_asked_for():
    assert [] == texts(result("pass"))
    assert ["check matmul of GPU-1 on gpu-1: pass: why"] == texts(result("pass", incident="ab"))


def test_other_hosts_and_older_results_are_no_news():
    assert [] == texts(result("slow", host="gpu-2"))
    assert [] == texts(result("slow", at=-1000.0))


def test_two_results_of_one_check_are_two_entries():
    notes = list(checked_nodes.notes([result("slow"), result("slow", at=20.0)], ("gpu-1",), OPENED))
    assert 2 == len({note.key for note in notes})
