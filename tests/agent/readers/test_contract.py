"""What every reader owes the agent, over the list of all of them, on the machine as it is."""

import os
import time

import pytest

from rankscope.agent import readers
from rankscope.agent.readers import catalogue
from rankscope.agent.trainers import Trainer
from rankscope.vocabulary import events, metrics

ME = Trainer(
    key=("", os.getpid()),
    job="j",
    attempt=0,
    rank=0,
    pid=os.getpid(),
    container_pid=None,
    heard_at=0.0,
)
GONE = Trainer(
    key=("", 2**22 + 1),
    job="j",
    attempt=0,
    rank=1,
    pid=2**22 + 1,
    container_pid=None,
    heard_at=0.0,
)
UNSEEN = Trainer(
    key=("udp:1", 1), job="j", attempt=0, rank=2, pid=None, container_pid=None, heard_at=0.0
)
EVERY = readers.everything(readers.Surroundings(trainers=lambda: [ME, GONE, UNSEEN]))

pytestmark = pytest.mark.parametrize("reader", EVERY, ids=lambda reader: reader.name)


def test_a_reader_has_a_name_of_its_own_and_a_period(reader):
    assert [one.name for one in EVERY].count(reader.name) == 1
    assert reader.period > 0


def test_a_readers_entry_names_what_the_vocabulary_knows(reader):
    entry = catalogue.entries()[reader.name]
    assert set(entry.metrics) <= set(metrics.catalogue())
    assert set(entry.events) <= set(events.catalogue())
    assert entry.metrics or entry.events
    assert entry.profile in ("restricted", "full")
    for text in (entry.what, entry.source, entry.needs, entry.failure, entry.fix):
        assert len(text) > 10
        assert not text.endswith(".")  # the pages and the table end the sentence


def test_a_reader_says_whether_it_is_supported_and_if_not_why(reader):
    supported, reason = reader.supported()
    assert supported or len(reason) > 10


def _read(reader, now):
    """Read as the agent does: what this machine, or this user, does not have is not read."""
    return reader.read(now) if reader.supported()[0] else []


def test_what_a_reader_says_is_in_the_vocabulary_and_timed_now(reader):
    for now in (time.time(), time.time() + 1.0):
        for sample in _read(reader, now):
            metric = metrics.catalogue()[sample.metric]
            names = {name for name, _ in sample.attributes}
            assert set(metric.attributes) <= names
            assert names <= {*metric.attributes, *metric.optional, "source", "quality"}
            assert sample.metric in catalogue.entries()[reader.name].metrics
            assert sample.at == now
            assert sample.value >= 0


def test_a_reader_never_says_a_series_twice_in_one_reading(reader):
    series = [(sample.metric, sample.attributes) for sample in _read(reader, time.time())]
    assert len(series) == len(set(series))
