"""A stretch of the shared log is read as files are: by any collector, of several partitions too."""

import itertools
import time

import pytest

from bench.soak.load import payload
from rankscope.alerts.shared.messages import ClaimAnswer, pack
from rankscope.collector.cluster import names
from rankscope.collector.cluster.excerpts import HeldInLog
from rankscope.collector.cluster.publishing import PartitionPublisher
from rankscope.collector.history.journal_reader import JournalRangeError
from rankscope.collector.journal import journal
from rankscope.collector.journal.kinds import PayloadKind
from rankscope.vocabulary.ids import IncidentId

from .conftest import PARTITIONS

JOBS = [
    next(f"run-{n}" for n in itertools.count() if names.of_job(f"run-{n}", PARTITIONS) == partition)
    for partition in range(PARTITIONS)
]


@pytest.fixture
def held(connection, tmp_path):
    return HeldInLog(connection, PARTITIONS, tmp_path / "excerpts")


def test_it_has_what_the_partitions_of_the_jobs_have_in_order_and_once(connection, held, tmp_path):
    publisher = PartitionPublisher(connection)
    assert held.since(JOBS[0]) is None
    shared = payload("of a host", 1, 1.0)
    for partition, job in enumerate(JOBS):
        for step in (1, 2):
            publisher.publish(
                partition, PayloadKind.METRICS_PROTOBUF, payload(job, step, float(step))
            )
        publisher.publish(partition, PayloadKind.METRICS_PROTOBUF, shared)
        publisher.publish(
            partition,
            PayloadKind.SHARED,
            pack(ClaimAnswer(IncidentId("a"), "r", IncidentId("b"), 0)),
        )
    until = time.time() + 3600
    with held.between(JOBS[:1], 0.0, until) as folder:
        one = [entry.body for entry in journal.read(folder)]
    assert one == [*(payload(JOBS[0], step, float(step)) for step in (1, 2)), shared]
    with held.between(JOBS, 0.0, until) as folder:
        entries = list(journal.read(folder))
    assert len(entries) == 5
    assert sorted(entry.at_ns for entry in entries) == [entry.at_ns for entry in entries]
    assert {entry.kind for entry in entries} == {PayloadKind.METRICS_PROTOBUF}
    assert list((tmp_path / "excerpts").iterdir()) == []
    since = held.since(JOBS[0])
    assert since is not None
    with held.between(JOBS, 0.0, since - 1) as folder:
        assert list(journal.read(folder)) == []


def test_what_is_too_much_is_refused(connection, held, monkeypatch):
    monkeypatch.setattr("rankscope.collector.cluster.excerpts._MOST_BYTES", 10)
    PartitionPublisher(connection).publish(
        0, PayloadKind.METRICS_PROTOBUF, payload(JOBS[0], 1, 1.0)
    )
    with (
        pytest.raises(JournalRangeError, match="shorter"),
        held.between(JOBS, 0.0, time.time() + 3600),
    ):
        pass


def test_without_nats_it_says_so(connection, held):
    connection.stop()
    with pytest.raises(JournalRangeError, match="NATS"):
        held.since(JOBS[0])
