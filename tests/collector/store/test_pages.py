"""Pages of incidents: filters, cursors, and what a token may not see."""

import pytest

from rankscope.collector.store.incidents import IncidentFilter

T0 = 1_700_000_000.0


@pytest.fixture
def many(store, changed):
    """Commit 25 incidents; two share each onset, every fifth is of another job."""
    changes = [
        changed(
            "opened",
            identity=f"{number:02}",
            at=T0 + number // 2,
            jobs=("run-2",) if number % 5 == 0 else ("run-1",),
            severity="warning" if number % 2 else "critical",
        )
        for number in range(25)
    ]
    store.commit(changes, T0 + 100)
    return [change.incident.id for change in changes]


def _all(store, wanted=None, **more):
    ids, cursor = [], None
    while True:
        page = store.incidents(wanted, cursor=cursor, **more)
        ids += [document["id"] for document in page.items]
        cursor = page.next_cursor
        if cursor is None:
            return ids


@pytest.mark.parametrize("limit", [1, 2, 3, 24, 25, 26])
def test_pages_together_hold_every_incident_once_newest_onset_first(store, many, limit):
    assert _all(store, limit=limit) == sorted(many, reverse=True)


def test_an_incident_that_opens_between_two_pages_does_not_shift_them(store, many, changed):
    first = store.incidents(limit=10)
    store.commit([changed("opened", identity="zz", at=T0 + 50)], T0 + 101)
    second = store.incidents(limit=10, cursor=first.next_cursor)
    ids = [document["id"] for document in first.items + second.items]
    assert ids == sorted(many, reverse=True)[:20]


@pytest.mark.parametrize("limit", [1, 4, 50])
def test_what_may_not_be_seen_is_left_out_of_every_page(store, many, limit):
    mine = sorted((identity for identity in many if int(identity[:2]) % 5 == 0), reverse=True)
    assert _all(store, limit=limit, permits=lambda jobs: jobs == ["run-2"]) == mine


def test_filters_narrow_together(store, many):
    found = _all(store, IncidentFilter(job="run-2", severity="critical"))
    assert [int(identity[:2]) for identity in found] == [20, 10, 0]
    assert _all(store, IncidentFilter(fault="gpu.lost")) == []
    assert _all(store, IncidentFilter(status="resolved")) == []


def test_since_means_that_something_changed_since(store, many, changed):
    old = changed("resolved", identity="00", at=T0, updated_at=T0 + 500)
    store.commit([old], T0 + 500)
    assert _all(store, IncidentFilter(since=T0 + 400)) == ["00".ljust(20, "0")]


def test_an_incident_of_several_jobs_is_found_by_each(store, changed):
    store.commit([changed("opened", jobs=("a", "b"))], T0)
    assert len(_all(store, IncidentFilter(job="b"))) == 1


@pytest.mark.parametrize("cursor", ["", "x", "====", "bm9uc2Vuc2U", "\u00fc"])
def test_a_cursor_of_somebody_else_is_refused(store, cursor):
    with pytest.raises(ValueError, match="not a cursor"):
        store.incidents(cursor=cursor)
