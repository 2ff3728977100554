"""The reader and Prometheus' own client library read the same in pages they both can read."""

from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from rankscope.formats.exposition import parse

PAGES = sorted((Path(__file__).parents[2] / "fixtures" / "exporters").glob("*.prom"))


def client_says(text):
    # Without types: of a counter the client also writes the name that it thinks it should have.
    plain = "".join(f"{line}\n" for line in text.splitlines() if not line.startswith("#"))
    return {
        (one.name, tuple(sorted((k, v) for k, v in one.labels.items() if v))): float(one.value)
        for family in text_string_to_metric_families(plain)
        for one in family.samples
    }


def we_say(text):
    page = parse(text.encode(), now=1_606_402.0)
    assert not page.problems
    return {(series.name, series.labels): value for series, value in page.values}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_every_page_of_a_vendor_reads_like_the_client(path):
    text = path.read_text()
    assert client_says(text) == we_say(text)
    assert len(we_say(text)) > 5


def test_what_the_client_writes_is_read_back():
    registry = CollectorRegistry()
    Gauge("watts", 'with "quotes"', ["where"], registry=registry).labels('a\\b"c\nd').set(1.25)
    Counter("steps", "counted", ["rank"], registry=registry).labels("0").inc(3)
    Histogram("wait_seconds", "timed", registry=registry).observe(0.3)
    text = generate_latest(registry).decode()
    assert client_says(text) == we_say(text)
