"""The log in JetStream: acknowledged is kept, once, in one order of times; bad entries go aside."""

import json

import pytest
from tests.waiting import until

from rankscope.collector.cluster import messages, names
from rankscope.collector.cluster.acknowledging import AcknowledgedPublisher
from rankscope.collector.cluster.connection import ERRORS, LogUnavailableError, NatsConnection
from rankscope.collector.cluster.hosts import HostPartitions
from rankscope.collector.cluster.partition_log import DecisionStream, PartitionLog
from rankscope.collector.cluster.publishing import PartitionPublisher, PublishedLog
from rankscope.collector.cluster.reading import StreamReader
from rankscope.collector.cluster.routing import PayloadRouter
from rankscope.collector.journal.entries import JournalEntry
from rankscope.collector.journal.kinds import PayloadKind
from rankscope.collector.settings.log import LogSettings

from .conftest import PARTITIONS


def _entry(text: str) -> JournalEntry:
    return JournalEntry(PayloadKind.METRICS_JSON, 0, json.dumps({"note": text * 2000}).encode())


def _publish(connection: NatsConnection, *texts: str) -> None:
    PartitionPublisher(connection).publish_all(
        [(0, row.kind, row.body) for row in map(_entry, texts)]
    )


def _read(connection: NatsConnection, after=None) -> list[JournalEntry]:
    return [entry for entry, _ in PartitionLog(connection, 0).read(after)]


def test_what_was_published_is_read_in_order_with_times_that_never_go_back(connection):
    _publish(connection, "a")
    _publish(connection, "b")
    found = _read(connection)
    assert [entry.body for entry in found] == [_entry("a").body, _entry("b").body]
    assert found[0].at_ns < found[1].at_ns
    assert found == _read(connection)  # the same bytes and times whenever it is read


def test_reading_goes_on_after_an_offset(connection):
    for text in "abc":
        _publish(connection, text)
    log = PartitionLog(connection, 0)
    _, after = next(iter(log.read(None)))
    assert [entry.body for entry in _read(connection, after)] == [
        _entry("b").body,
        _entry("c").body,
    ]
    assert log.holds(after)


def test_a_payload_that_is_sent_again_is_kept_once(connection):
    _publish(connection, "a")
    _publish(connection, "a")
    assert len(_read(connection)) == 1


def test_a_range_of_the_stream_is_what_was_taken_in_it(connection):
    for text in "abc":
        _publish(connection, text)
    first, second, third = _read(connection)
    log = PartitionLog(connection, 0)
    assert list(log.range(second.at_ns, third.at_ns)) == [second, third]
    assert first not in log.range(second.at_ns, third.at_ns)


def test_an_empty_partition_has_neither_entries_nor_a_newest_time(connection):
    log = PartitionLog(connection, 1)
    assert list(log.read(None)) == []
    assert log.last_at_ns() is None


def test_the_newest_time_is_that_of_the_newest_entry(connection):
    _publish(connection, "a", "b")
    assert PartitionLog(connection, 0).last_at_ns() == _read(connection)[-1].at_ns


def test_without_nats_nothing_is_kept_and_with_it_again_everything_is(nats, connection):
    written = PublishedLog(
        PartitionPublisher(connection), PayloadRouter(1, HostPartitions(connection))
    )
    nats.kill()
    refused = written.write([_entry("a")])
    assert refused.entries == 0
    assert isinstance(refused.failure, LogUnavailableError)
    nats.start()
    while written.write([_entry("a")]).entries == 0:
        pass
    assert [entry.body for entry in _read(connection)] == [_entry("a").body]


def test_a_message_of_others_is_passed_over_and_time_goes_on(connection):
    connection.call(connection.js.publish(names.subject(0), b"not one of ours"), 10)
    _publish(connection, "a")
    assert [entry.kind for entry in _read(connection)] == [
        PayloadKind.TIME,
        PayloadKind.METRICS_JSON,
    ]


def test_only_the_newest_owner_of_a_partition_records_decisions(connection):
    skipped = JournalEntry(PayloadKind.SKIPPED, 0, b'{"first": 1, "last": 2}')
    old, new = DecisionStream(connection, 0), DecisionStream(connection, 0)
    old.claim()
    assert old.write([skipped]).entries == 1
    new.claim()
    assert old.write([skipped]).entries == 0
    assert new.write([skipped]).entries == 1
    kinds = [entry.kind for entry, _ in new.read(None)]
    assert kinds.count(PayloadKind.SKIPPED) == 2


@pytest.mark.parametrize("found", ["at once", "at the next"])
def test_a_decision_whose_answer_was_lost_does_not_shut_its_owner_out(
    connection, monkeypatch, found
):
    """JetStream refuses it when it is sent again, before it looks for the same id (2.15.1)."""
    one = DecisionStream(connection, 0)
    one.claim()
    publish, newest = connection.js.publish, DecisionStream._newest

    async def unanswered(*args, **kwargs):
        await publish(*args, **kwargs)
        raise TimeoutError

    async def away(_self):
        raise TimeoutError

    with monkeypatch.context() as lost:
        lost.setattr(connection.js, "publish", unanswered)
        if found == "at the next":
            lost.setattr(DecisionStream, "_newest", away)
        first = one.write([JournalEntry(PayloadKind.SKIPPED, 0, b"1")]).entries
    assert newest is DecisionStream._newest
    assert first == (1 if found == "at once" else 0)
    assert one.write([JournalEntry(PayloadKind.SKIPPED, 0, b"2")]).entries == 1
    bodies = [entry.body for entry, _ in one.read(None) if entry.kind is PayloadKind.SKIPPED]
    assert bodies == [b"1", b"2"]


def test_more_decisions_than_one_batch_are_all_read(connection):
    one = DecisionStream(connection, 0)
    one.claim()
    skipped = [JournalEntry(PayloadKind.SKIPPED, 0, b"%d" % number) for number in range(300)]
    assert one.write(skipped).entries == len(skipped)
    found = [entry.body for entry, _ in one.read(None) if entry.kind is PayloadKind.SKIPPED]
    assert found == [entry.body for entry in skipped]


def test_decisions_are_read_to_the_end_where_their_consumer_is_lost(connection):
    """One server of several restarts while a range is replayed: it has no consumer any more."""
    one = DecisionStream(connection, 0)
    one.claim()
    skipped = [JournalEntry(PayloadKind.SKIPPED, 0, b"%d" % number) for number in range(300)]
    assert one.write(skipped).entries == len(skipped)
    found: list[bytes] = []
    for entry, _ in one.read(None):
        if not found:
            for consumer in connection.call(connection.js.consumers_info(names.DECISIONS), 10):
                work = connection.js.delete_consumer(names.DECISIONS, consumer.name)
                connection.call(work, 10)
        found += [entry.body] if entry.kind is PayloadKind.SKIPPED else []
    assert found == [entry.body for entry in skipped]


def test_what_there_is_comes_at_once_in_batches_where_nothing_is_asked_for_ahead(connection):
    """The first waits for no more than the stream has; what is published later comes later."""
    reader = StreamReader(connection, names.stream(0), ahead=False)
    fetched = lambda: connection.call(reader.fetch(10.0), 20)
    assert [] == fetched()
    many = [(0, PayloadKind.METRICS_JSON, b"%d" % number) for number in range(300)]
    assert [None] * 300 == PartitionPublisher(connection).publish_all(many)
    batches = [fetched() for _ in range(3)]
    assert [128, 128, 44] == [len(one) for one in batches]
    assert [300 - 128, 300 - 256, 0] == [one[-1].pending for one in batches]
    found = [messages.unpacked(one)[1] for batch in batches for one in batch]
    assert [body for _, _, body in many] == sorted(found, key=int)
    _publish(connection, "a")
    assert [_entry("a").body] == [messages.unpacked(one)[1] for one in fetched()]
    assert [] == fetched()


def test_each_message_of_a_group_has_its_own_answer(connection):
    """One of a subject that no stream has and one that a stream refuses: the others are kept."""
    wrong = {"Nats-Expected-Last-Subject-Sequence": "7"}

    async def published() -> list[str | None]:
        publisher = AcknowledgedPublisher(connection.client)
        subjects = [(names.subject(0), {}), ("nobody.listens", {}), (names.subject(0), wrong)]
        group = [(subject, b"x", headers) for subject, headers in subjects]
        return await publisher.publish([*group, group[0]], 10.0)

    kept, nobody, refused, again = connection.call(published(), 20)
    assert (None, None) == (kept, again)
    assert "no stream has the subject" == nobody
    assert "wrong last sequence" in str(refused)
    assert 2 == len(_read(connection))


@pytest.mark.parametrize("ahead", [True, False])
def test_a_reader_whose_consumer_is_gone_goes_on_where_it_was(connection, ahead):
    """It is deleted, as a server that dies takes it along: nothing comes twice, nothing is lost."""
    reader = StreamReader(connection, names.stream(0), ahead=ahead)

    def fetched() -> list[bytes]:
        try:
            return [messages.unpacked(one)[1] for one in connection.call(reader.fetch(1.0), 10)]
        except ERRORS:
            return []

    _publish(connection, "a", "b")
    found = until(fetched, "what was published before")
    (consumer,) = connection.call(connection.js.consumers_info(names.stream(0)), 10)
    deleted = connection.js.delete_consumer(names.stream(0), consumer.name)
    assert connection.call(deleted, 10)
    _publish(connection, "c")
    found += until(fetched, "what was published after")
    assert [_entry(text).body for text in "abc"] == found


def test_a_log_that_is_closed_tells_whoever_reads_it(connection):
    _publish(connection, "a", "b")
    log = PartitionLog(connection, 0)
    log.close()
    with pytest.raises(LogUnavailableError, match="closed"):
        list(log.read(None))


def test_a_long_body_travels_compressed_and_comes_back_as_it_was():
    entry = _entry("x")
    packed, headers = messages.packed(entry.kind, entry.body)
    assert len(packed) < len(entry.body)
    message = messages.StreamMessage(1, 5, headers, packed, 0)
    assert messages.unpacked(message) == (entry.kind, entry.body)


def test_a_nats_that_cannot_be_reached_is_named_without_its_password():
    settings = LogSettings(url="nats://me:secret@127.0.0.1:1", partitions=PARTITIONS)
    with pytest.raises(LogUnavailableError) as caught:
        NatsConnection(settings, name="test").start()
    assert "127.0.0.1:1" in str(caught.value)
    assert "secret" not in str(caught.value)
