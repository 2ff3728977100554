"""What every reader owes the agent, over the list of all of them, on the machine as it is."""

import os
import time

import pytest

from rankscope.agent import readers
from rankscope.agent.readers import catalogue
from rankscope.agent.trainers import TrainerProcess
from rankscope.vocabulary import metrics

from . import contract

ME = TrainerProcess(
    key=("", os.getpid()),
    job="j",
    attempt=0,
    rank=0,
    pid=os.getpid(),
    container_pid=None,
    last_received=0.0,
)
GONE = TrainerProcess(
    key=("", 2**22 + 1),
    job="j",
    attempt=0,
    rank=1,
    pid=2**22 + 1,
    container_pid=None,
    last_received=0.0,
)
UNSEEN = TrainerProcess(
    key=("udp:1", 1), job="j", attempt=0, rank=2, pid=None, container_pid=None, last_received=0.0
)
EVERY = readers.everything(readers.ReaderContext(trainers=lambda: [ME, GONE, UNSEEN]))

pytestmark = pytest.mark.parametrize("reader", EVERY, ids=lambda reader: reader.name)


def test_a_reader_has_a_name_of_its_own_and_a_period(reader):
    contract.check_name_and_period(reader, EVERY)


def test_a_readers_entry_names_what_the_vocabulary_has(reader):
    contract.check_entry(catalogue.entries()[reader.name], metrics.catalogue())


def test_a_reader_answers_whether_it_is_supported_and_if_not_why(reader):
    contract.check_supported(reader)


def test_what_a_reader_reads_is_in_the_vocabulary_timed_now_and_each_series_once(reader):
    entry = catalogue.entries()[reader.name]
    for now in (time.time(), time.time() + 1.0):
        contract.check_samples(reader, now, entry=entry, metrics=metrics.catalogue())
