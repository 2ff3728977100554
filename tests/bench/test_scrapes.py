"""A recording as a scraper reads it: repeated gauges, counters that begin anew, gaps."""

import itertools

import numpy as np
import pytest

from bench.live.scraped import ScrapedSeries
from bench.scraping import quiet
from bench.scraping.scrapes import ScrapeHabits, arrivals
from rankscope.formats.otlp.columns import SeriesTable
from rankscope.formats.remote_write import RemoteWriteDecoder
from rankscope.lab.simulator.shape import EPOCH

LABELS = {"UUID": "GPU-1", "gpu": "0", "Hostname": "gpu-1", "exported_pod": "run-worker-0"}
AT = np.arange(0.0, 600.0, 30.0)


def shown(name, values, kind="gauge"):
    return ScrapedSeries("gpu-1:9400", name, kind, LABELS, AT, np.asarray(values, float))


def read(found, habits, seconds=600.0):
    """Return (arrival, time, value) of the samples of one metric, by the collector's decoder."""
    table = SeriesTable()
    decoder = RemoteWriteDecoder(table)
    rows = []
    for one in arrivals(found, habits, seconds=seconds, random=np.random.default_rng(1)):
        columns = decoder.plain(one.body).columns
        rows += [
            (one.at - EPOCH, at - EPOCH, value, table[series].metric)
            for series, at, value in zip(
                columns.series.tolist(), columns.at.tolist(), columns.value.tolist(), strict=True
            )
        ]
    return rows


def test_a_gauge_is_repeated_while_the_exporter_has_nothing_newer():
    habits = ScrapeHabits(interval=15.0, missed=0.0, restarts=0.0)
    rows = read([shown("DCGM_FI_DEV_GPU_TEMP", AT)], habits)
    values = [value for _, _, value, metric in rows if metric == "hw.temperature"]
    assert len(values) == 40
    assert sorted({values.count(value) for value in values}) == [2]


def test_what_is_polled_arrives_at_whole_intervals_and_what_is_sent_soon():
    found = [shown("DCGM_FI_DEV_GPU_TEMP", AT)]
    sent = read(found, ScrapeHabits(missed=0.0, restarts=0.0))
    assert all(0 < arrives - at <= 5.1 for arrives, at, _, _ in sent)
    polled = read(found, ScrapeHabits(missed=0.0, restarts=0.0, polled=True))
    assert all(5.0 < arrives - at <= 25.1 for arrives, at, _, _ in polled)
    assert {round(arrives % 15.0, 3) for arrives, _, _, _ in polled} == {5.0}


def test_a_counter_begins_anew_with_its_exporter_and_never_goes_down_otherwise():
    energy = shown("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", 1e6 * (1 + AT), "counter")
    rows = read([energy], ScrapeHabits(missed=0.0, restarts=12.0))
    values = [value for _, _, value, metric in rows if metric == "hw.energy"]
    resets = [pair for pair in itertools.pairwise(values) if pair[1] < pair[0]]
    assert resets
    assert all(after < before / 2 for before, after in resets)


def test_scrapes_fail_as_often_as_they_are_said_to():
    found = [shown("DCGM_FI_DEV_GPU_TEMP", AT)]
    all_of_them = read(found, ScrapeHabits(missed=0.0, restarts=0.0))
    some = read(found, ScrapeHabits(missed=0.5, restarts=0.0))
    assert 0.2 * len(all_of_them) < len(some) < 0.8 * len(all_of_them)


@pytest.mark.parametrize("seed", [1, 2])
def test_an_hour_is_drawn_from_its_seed_and_keeps_the_interval_that_is_asked_for(seed):
    scenario, habits = quiet.drawn(seed, interval=60.0)
    assert habits.interval == 60.0
    assert (scenario, habits) == quiet.drawn(seed, interval=60.0)
    assert scenario.cluster.gpus
    assert scenario.reporting.devices == "dcgm"
