"""Profiles as a collector keeps them: asked for, answered, compared, overdue, let go of."""

import gzip
import json
from pathlib import Path

import pytest

from rankscope.collector.profiles.automatic import result
from rankscope.collector.profiles.profile import JobProfile
from rankscope.collector.profiles.shelf import ProfileShelf, ProfileTarget, UnknownProfileError
from rankscope.collector.settings.profiles import ProfilesSettings

NOW = 1_000_000.0


def trace(sleeps: float) -> bytes:
    """Return two steps of 100 ms in which the host is idle for so many seconds, else computes."""
    span = {"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "ts": 0, "dur": 2e5}
    busy = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 0, "dur": 2e5 - 2e6 * sleeps}
    return gzip.compress(json.dumps({"traceEvents": [span, {**busy, "tid": 1}]}).encode())


@pytest.fixture
def ended() -> list[JobProfile]:
    return []


@pytest.fixture
def shelf(tmp_path, ended) -> ProfileShelf:
    made = ProfileShelf(tmp_path / "profiles", ProfilesSettings(), ended=ended.append)
    made.wanted("host-a", NOW)
    made.wanted("host-b", NOW)
    return made


@pytest.fixture
def asked(shelf: ProfileShelf) -> JobProfile:
    ranks = [ProfileTarget(3, "suspect", "host-a"), ProfileTarget(1, "peer", "host-b")]
    return shelf.request("job", ranks, steps=2, by="me", incident="i", now=NOW)


def sent(shelf: ProfileShelf, profile: JobProfile, rank: int, body: bytes, folder: Path) -> None:
    file = folder / "upload"
    file.write_bytes(body)
    shelf.take(profile.id, rank, file, steps=2, seconds=0.2, now=NOW)


def test_each_agent_is_asked_for_its_own_ranks_until_they_have_answered(shelf, asked, tmp_path):
    (job, request), *more = shelf.wanted("host-a", NOW + 1)
    assert ("job", 3, 2, []) == (job, request.rank, request.steps, more)
    sent(shelf, asked, 3, trace(0.0), tmp_path)
    assert [] == shelf.wanted("host-a", NOW + 1)
    assert [1] == [one.rank for _, one in shelf.wanted("host-b", NOW + 1)]
    assert [] == shelf.wanted("host-b", asked.until + 1)


def test_what_differs_is_said_per_step_once_both_traces_are_here(shelf, asked, ended, tmp_path):
    sent(shelf, asked, 3, trace(0.04), tmp_path)
    assert [] == ended
    sent(shelf, asked, 1, trace(0.0), tmp_path)
    assert [asked] == ended
    found = result(asked, NOW)
    assert "a step of rank 3 against rank 1: gaps +40 ms" == found.text
    rows = {row.kind: row for row in found.rows if not row.name}
    assert 0.06 == pytest.approx(rows["compute"].suspect.seconds)
    assert 0.10 == pytest.approx(rows["compute"].peer.seconds)
    assert 2 == len(found.traces)


def test_a_profile_is_there_again_after_a_restart(shelf, asked, tmp_path):
    sent(shelf, asked, 3, trace(0.04), tmp_path)
    again = ProfileShelf(tmp_path / "profiles", ProfilesSettings())
    assert asked == again.find(asked.id, NOW)
    assert trace(0.04)[10:] == again.trace(asked.id, 3, NOW).read_bytes()[10:]


def test_an_agent_that_never_asks_allows_nothing_and_the_answer_says_what_to_set(shelf, ended):
    profile = shelf.request(
        "job", [ProfileTarget(0, "suspect", "host-c")], steps=1, by="me", incident=None, now=NOW
    )
    assert "failed" == profile.status
    assert "profiling.allowed" in profile.ranks[0].text
    assert [profile] == ended


def test_nobody_is_waited_for_forever(shelf, asked):
    late = asked.until + asked.seconds + 200
    assert "failed" == shelf.find(asked.id, late).status
    assert "did not answer" in asked.ranks[0].text
    with pytest.raises(UnknownProfileError):
        shelf.fail(asked.id, 3, "too late", late)


# Named, for gzip writes the time of day: of two workers each would know another test.
@pytest.mark.parametrize(
    "body",
    [b"no gzip", gzip.compress(b"no trace"), trace(0.0)[:40]],
    ids=["no gzip", "no trace", "cut off"],
)
def test_a_trace_that_cannot_be_read_is_kept_and_says_why(shelf, asked, tmp_path, body):
    sent(shelf, asked, 3, body, tmp_path)
    row = asked.of(3)
    assert row is not None
    assert "complete" == row.status
    assert row.text.startswith("kept, but not summed up: ")
    assert body == shelf.trace(asked.id, 3, NOW).read_bytes()
    assert result(asked, NOW).suspect is None


def test_traces_that_are_not_asked_for_are_refused(shelf, asked, tmp_path):
    with pytest.raises(UnknownProfileError):
        sent(shelf, asked, 2, trace(0.0), tmp_path)
    sent(shelf, asked, 3, trace(0.0), tmp_path)
    with pytest.raises(UnknownProfileError):
        sent(shelf, asked, 3, trace(0.0), tmp_path)


def test_the_oldest_go_when_there_is_too_much_and_the_old_when_their_time_is_over(tmp_path):
    shelf = ProfileShelf(tmp_path / "profiles", ProfilesSettings(max_bytes=1 << 20, keep_days=1))
    made = []
    for number in range(3):
        shelf.wanted("h", NOW + number)
        profile = shelf.request(
            "job",
            [ProfileTarget(0, "suspect", "h")],
            steps=1,
            by="me",
            incident=None,
            now=NOW + number,
        )
        sent(shelf, profile, 0, b"x" * 400_000, tmp_path)
        made.append(profile)
    shelf.trim(NOW + 10)
    assert made[:0:-1] == shelf.every(now=NOW + 10)
    assert not (tmp_path / "profiles" / made[0].id).exists()
    shelf.trim(NOW + 90_000)
    assert [] == shelf.every(now=NOW + 90_000)


def test_hosts_that_ask_no_more_are_not_remembered(shelf):
    for number in range(100):
        shelf.wanted(f"made-up-{number}", NOW)
    shelf.wanted("host-a", NOW + 80)
    shelf.trim(NOW + 100)
    assert ["host-a"] == list(shelf._asked)
    assert shelf.asks("host-a", NOW + 100)
