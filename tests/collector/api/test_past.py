"""/root-cause over a time range: what is refused, and how; what is found is tested with `past`."""

import pytest
from tests.examples import told

from rankscope.collector.journal.entries import JournalEntry
from rankscope.collector.journal.journal import FileJournal
from rankscope.collector.journal.kinds import PayloadKind
from rankscope.collector.settings.journal import JournalSettings

HOUR = 3600.0


@pytest.fixture
def client(new_client, tmp_path, clock):
    """Return a client of a collector whose journal begins two hours ago."""
    journal = FileJournal(tmp_path / "data" / "journal", JournalSettings())
    journal.write(
        [JournalEntry(PayloadKind.METRICS_PROTOBUF, round((clock.at - 2 * HOUR) * 1e9), b"")]
    )
    journal.close()
    return new_client(data_dir=tmp_path / "data", past={"hours": 1})


def _ask(client, clock, start, end, **more):
    params = {"job": "run-1", "from": clock.at + start, "to": clock.at + end, **more}
    return client.get("/api/v1/root-cause", params=params)


def test_a_range_that_cannot_be_asked_for_is_400_and_says_why(client, clock):
    tried = [
        (-60, -120, "later than to"),
        (60, 120, "in the future"),
        (-1.5 * HOUR, 0, "longer than 1 h"),
    ]
    for start, end, words in tried:
        with told(start=start, end=end, words=words):
            answer = _ask(client, clock, start, end)
            assert answer.status_code == 400
            assert answer.json()["parameter"] == "from"
            assert words in answer.json()["detail"]


def test_what_is_held_no_more_is_404_with_the_time_from_which_it_is(client, clock):
    answer = _ask(client, clock, -4 * HOUR, -3.5 * HOUR)
    assert answer.status_code == 404
    assert answer.json()["held_from"] == "2023-11-14T20:13:20.250Z"


def test_a_job_that_is_not_in_the_journal_is_404(client, clock):
    assert "no telemetry of job" in _ask(client, clock, -1.5 * HOUR, -HOUR).json()["detail"]
