"""The worked example of docs/examples: a reader is its file, one line in the list and one row."""

import time
from pathlib import Path

import pytest
from tests.loading import EXAMPLES, loaded

from rankscope.agent import readers
from rankscope.agent.health import AgentHealth
from rankscope.agent.readers import catalogue
from rankscope.agent.reading import ReadingThread
from rankscope.agent.support_log import SupportLog
from rankscope.vocabulary import metrics, tables

from . import contract

ROWS = (EXAMPLES / "reader_load_average.toml").read_text(encoding="utf-8")
METRICS = {
    **metrics.catalogue(),
    **{
        row.name: row
        for row in tables.rows(metrics.ContractMetric, ROWS, "metric", beside="reader")
    },
}


@pytest.fixture
def make():
    """Return the example's class."""
    return loaded(EXAMPLES / "reader_load_average.py").LoadAverage


@pytest.fixture
def entry(monkeypatch):
    """Return the example's row, its metric being in the vocabulary."""
    monkeypatch.setattr(metrics, "catalogue", lambda: METRICS)
    (row,) = tables.rows(catalogue.ReaderEntry, ROWS, "reader", beside="metric")
    return row


@pytest.fixture
def tree(proc):
    return proc(loadavg="1.50 0.75 0.20 3/512 4711\n")


def test_the_example_keeps_the_contract_on_this_machine_and_on_one_without_the_file(
    make, tree, tmp_path, entry
):
    others = readers.everything(readers.ReaderContext())
    for root in (Path("/proc"), tree, tmp_path / "nothing"):
        reader = make(period=5.0, proc=root)
        contract.check_name_and_period(reader, [*others, reader])
        contract.check_supported(reader)
        contract.check_samples(reader, time.time(), entry=entry, metrics=METRICS)
    contract.check_entry(entry, METRICS)


def test_the_rows_of_the_example_are_not_yet_in_the_catalogues():
    assert "load_average" not in catalogue.entries()
    assert "system.cpu.load_average.1m" not in metrics.catalogue()


def test_the_agent_delivers_what_the_example_reads(make, tree, until):
    delivered = []
    reading = ReadingThread(
        readers=[make(period=5.0, proc=tree)],
        health=AgentHealth(),
        now=lambda: 1000.0,
        deliver=lambda reader, samples, now: delivered.extend(samples),
        support=SupportLog(),
    )
    reading.start()
    until(lambda: delivered)
    reading.stop()
    (sample,) = delivered
    assert (sample.metric, sample.value, sample.at) == ("system.cpu.load_average.1m", 1.5, 1000.0)
