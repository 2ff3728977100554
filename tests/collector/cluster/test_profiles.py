"""Profiles of several collectors over a real NATS: each knows of all, and gives every trace."""

import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.clocks import SetClock
from tests.waiting import until

from rankscope.collector.cluster.connection import NatsConnection
from rankscope.collector.cluster.profiles import SharedShelf
from rankscope.collector.intake.waiting import UnavailableError
from rankscope.collector.profiles.profile import JobProfile
from rankscope.collector.profiles.shelf import ProfileTarget, UnknownProfileError
from rankscope.collector.settings.log import LogSettings
from rankscope.collector.settings.profiles import ProfilesSettings

NOW = 1_700_000_000.0


@pytest.fixture
def new_shelf(
    connection: NatsConnection, log: LogSettings, tmp_path: Path
) -> Iterator[Callable[..., SharedShelf]]:
    """Return a function that makes the shelf of a collector of this name."""
    made: list[tuple[NatsConnection, SharedShelf]] = []

    def new(name: str, *, owns: bool = False) -> SharedShelf:
        one = NatsConnection(log, name=name)
        one.start()
        shelf = SharedShelf(
            tmp_path / name,
            ProfilesSettings(),
            connection=one,
            replicas=1,
            clock=SetClock(NOW),
            owns_job=lambda _job: owns,
        )
        made.append((one, shelf))
        shelf.start()
        return shelf

    yield new
    for one, shelf in made:
        shelf.stop()
        one.stop()


def _request(shelf: SharedShelf) -> JobProfile:
    for host in ("a", "b"):
        shelf.wanted(host, NOW)
    wanted = [ProfileTarget(0, "suspect", "a"), ProfileTarget(4, "peer", "b")]
    return shelf.request("run-1", wanted, steps=3, by="ada", incident=None, now=NOW)


def _trace(folder: Path, rank: int) -> Path:
    file = folder / f"trace-{rank}"
    file.write_bytes(gzip.compress(json.dumps({"traceEvents": [], "rank": rank}).encode()))
    return file


def _status(shelf: SharedShelf, identity: str) -> str:
    try:
        return shelf.find(identity, NOW).status
    except UnknownProfileError:
        return "unknown"


def test_what_agents_send_to_two_collectors_is_one_profile_at_each(new_shelf, tmp_path):
    first, second = new_shelf("first"), new_shelf("second", owns=True)
    ended: list[str] = []
    second.ended = lambda profile: ended.append(profile.id)
    profile = _request(first)
    until(lambda: _status(second, profile.id) == "waiting", "the other follows")
    assert [job for job, _ in second.wanted("b", NOW)] == ["run-1"]

    first.take(profile.id, 0, _trace(tmp_path, 0), steps=3, seconds=1.0, now=NOW)
    second.take(profile.id, 4, _trace(tmp_path, 4), steps=3, seconds=1.0, now=NOW)
    until(
        lambda: [_status(shelf, profile.id) for shelf in (first, second)] == ["complete"] * 2,
        "both traces at both",
    )
    for shelf in (first, second):
        for rank in (0, 4):
            text = gzip.decompress(shelf.trace(profile.id, rank, NOW).read_bytes())
            assert json.loads(text)["rank"] == rank
    until(lambda: ended == [profile.id], "the job's owner enters it in the incident")

    later = new_shelf("later")
    until(lambda: _status(later, profile.id) == "complete", "one that starts later has it too")
    assert later.trace(profile.id, 4, NOW).is_file()


def test_an_agent_that_asks_one_collector_can_be_asked_by_the_others(new_shelf):
    first, second = new_shelf("first"), new_shelf("second")
    first.wanted("a", NOW)
    until(lambda: second.asks("a", NOW), "announced")


def test_what_is_let_go_of_is_gone_everywhere(new_shelf):
    first, second = new_shelf("first", owns=True), new_shelf("second")
    profile = _request(first)
    until(lambda: _status(second, profile.id) == "waiting", "the other follows")
    first.trim(NOW + 30 * 86_400.0)
    until(lambda: _status(second, profile.id) == "unknown", "gone")


def test_without_nats_nothing_is_taken_and_the_answer_says_so(new_shelf, tmp_path):
    first = new_shelf("first")
    profile = _request(first)
    first._connection.stop()
    with pytest.raises(UnavailableError, match="kept in NATS"):
        first.take(profile.id, 0, _trace(tmp_path, 0), steps=3, seconds=1.0, now=NOW)
