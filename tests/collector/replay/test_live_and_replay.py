"""The real pipeline and the real store: live, restarted and replayed, the same incidents."""

import gzip
from pathlib import Path

import pytest
from tests.clocks import SetClock

from bench.stepped import SteppedStages
from rankscope.collector.evaluation.rereading import RereadPlan
from rankscope.collector.evaluation.snapshots import SnapshotFile
from rankscope.collector.health.health import CollectorHealth
from rankscope.collector.intake.payloads import Payload
from rankscope.collector.journal.journal import FileJournal
from rankscope.collector.journal.kinds import PayloadKind
from rankscope.collector.pipeline.pipeline import DetectionPipeline
from rankscope.collector.recordings import otlp_lines
from rankscope.collector.replay.replay import ReplayRun, as_line
from rankscope.collector.settings.journal import JournalSettings
from rankscope.collector.store.store import IncidentDatabaseStore

RECORDING = Path(__file__).parents[2] / "fixtures" / "cpu_contention.otlp.jsonl.gz"


class Live:
    """A collector without a thread, fed with the recording at its own times."""

    def __init__(self, folder):
        self.folder = folder
        self.clock = SetClock(0.0)
        self.store = IncidentDatabaseStore(f"sqlite:///{folder / 'incidents.db'}")
        self.commits = []
        self.start()

    def start(self):
        self.journal = FileJournal(self.folder / "journal", JournalSettings())
        self.decisions = FileJournal(self.folder / "journal" / "evaluation", JournalSettings())
        self.stages = SteppedStages(
            pipeline=DetectionPipeline(),
            journal=self.journal,
            decisions=self.decisions,
            sink=self,
            snapshots=SnapshotFile(self.folder / "snapshot"),
            rereading=RereadPlan.of(self.store, JournalSettings()),
            clock=self.clock,
            health=CollectorHealth(),
        )
        self.stages.recover()

    def commit(self, changes, now):
        self.commits.extend((change.kind, change.incident.id) for change in changes)
        self.store.commit(changes, now)

    def enter(self, action, changes, now):
        self.commits.extend((change.kind, change.incident.id) for change in changes)
        self.store.enter(action, changes, now)

    def crash(self):
        """End as kill -9 does: nothing is noted, nothing handed over."""
        self.close()
        self.start()

    def close(self):
        self.journal.close()
        self.decisions.close()

    def feed(self, lines):
        for at, body in lines:
            # As a sender would be received: a little after the last thing it reports of.
            while self.clock.at and self.clock.at + 1 < at:
                self.clock.at += 1
                self.stages.step()
            self.clock.at = max(self.clock.at, at + 0.05)
            self.stages.submit(Payload(PayloadKind.METRICS_JSON, body))
            self.stages.step()

    def run_on(self):
        for _ in range(30):
            self.clock.at += 1
            self.stages.step()

    def documents(self):
        rows = [dict(row) for row in self.store.incidents(limit=100).items]
        return sorted(rows, key=lambda row: (row["opened_at"], row["id"]))


@pytest.fixture
def lines():
    with gzip.open(RECORDING) as stream:
        found = [(otlp_lines.event_time(text), text) for text in stream]
    return [(at, text) for at, text in found if at is not None and b"resourceMetrics" in text[:40]]


@pytest.fixture
def new_live(tmp_path):
    """Return a function that starts a collector in a folder of its own."""
    started = []

    def start(name):
        (tmp_path / name).mkdir()
        started.append(Live(tmp_path / name))
        return started[-1]

    yield start
    for collector in started:
        collector.close()
        collector.store.close()


def replayed(folder):
    def failed(_stage, error):
        raise error

    return ReplayRun(pipeline=DetectionPipeline(), warn=lambda _: None, failed=failed).run(folder)


def test_a_replay_of_the_journal_gives_the_stored_documents_byte_for_byte(new_live, lines):
    live = new_live("live")
    live.feed(lines)
    live.run_on()
    live.stages.stop()
    documents = replayed(live.folder)
    assert documents
    assert [as_line(row) for row in documents] == [as_line(row) for row in live.documents()]


def test_crashes_lose_nothing_and_open_nothing_twice(new_live, lines):
    calm, crashing = new_live("calm"), new_live("crashing")
    calm.feed(lines)
    part = len(lines) // 5 + 1
    for start in range(0, len(lines), part):
        crashing.feed(lines[start : start + part])
        crashing.crash()
    for live in (calm, crashing):
        live.run_on()
    assert calm.documents()
    assert crashing.documents() == calm.documents()
    opened = [identity for kind, identity in calm.commits if kind == "incident.opened"]
    assert len(opened) == len(set(opened))
