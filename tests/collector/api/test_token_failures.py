"""Wrong tokens: counted, logged once a source, and answered ever slower, nobody else."""

import asyncio

import pytest
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from rankscope.collector.api import token_failures
from rankscope.collector.api.token_failures import FORGET_SECONDS, FREE, TokenFailures

PATH = "/api/v1/jobs"
WRONG = {"authorization": "Bearer wrong-token-0123456789"}


@pytest.fixture
def waited():
    """Return a list of how long answers were delayed (s)."""
    return []


@pytest.fixture
def registry():
    return CollectorRegistry()


@pytest.fixture
def failures(clock, registry, waited):
    async def sleep(seconds):
        waited.append(seconds)

    return TokenFailures(clock, registry=registry, sleep=sleep)


@pytest.fixture
def wrong(failures):
    """Return a function that notes wrong tokens of an address and returns the lines logged."""

    def send(address, count=1):
        with capture_logs() as lines:
            for _ in range(count):
                asyncio.run(failures.wrong(address, PATH))
        return lines

    return send


def test_many_wrong_tokens_are_counted_and_logged_once(wrong, registry):
    lines = wrong("10.0.0.9", 200)
    assert [("warning", "10.0.0.9", PATH)] == [
        (line["log_level"], line["source"], line["path"]) for line in lines
    ]
    name = "rankscope_collector_token_failures_total"
    assert 200 == registry.get_sample_value(name, {"reason": "unknown"})


def test_answers_to_a_source_get_slower_up_to_a_bound(wrong, waited):
    wrong("10.0.0.9", FREE)
    assert [] == waited
    wrong("10.0.0.9", 20)
    assert [0.1, 0.2, 0.4] == waited[:3]
    assert token_failures.LONGEST_SECONDS == waited[-1]


def test_another_source_is_answered_at_once(wrong, waited):
    wrong("10.0.0.9", FREE)
    wrong("10.0.0.10")
    assert [] == waited


def test_addresses_of_one_ipv6_network_are_one_source(wrong, waited):
    """A host there has 2**64 addresses of its own to come from."""
    for number in range(FREE + 1):
        wrong(f"2001:db8:1:2::{number:x}")
    assert [0.1] == waited
    assert 1 == len(wrong("2001:db8:1:3::1"))


def test_a_source_that_was_quiet_starts_again(wrong, waited, clock):
    wrong("10.0.0.9", FREE)
    clock.at += FORGET_SECONDS + 1
    assert 1 == len(wrong("10.0.0.9"))
    assert [] == waited


def test_memory_and_log_are_bounded_whatever_the_number_of_sources(wrong, failures):
    lines = [line for n in range(3000) for line in wrong(f"10.1.{n // 256}.{n % 256}")]
    assert 10 == len(lines)
    assert "token_failures_total" in lines[-1]["event"]
    assert token_failures.MOST_SOURCES == len(failures._sources)


def test_a_right_token_from_the_same_address_never_waits(new_client, protected, bearer, waited):
    async def sleep(seconds):
        waited.append(seconds)

    client = new_client(sleep=sleep, **protected)
    statuses = [client.get(PATH, headers=WRONG).status_code for _ in range(FREE + 2)]
    assert [401] * (FREE + 2) == statuses
    assert [0.1, 0.2] == waited
    assert 200 == client.get(PATH, headers=bearer("read")).status_code
    assert [0.1, 0.2] == waited


def test_missing_tokens_and_too_low_roles_are_counted_too(new_client, protected, bearer):
    client = new_client(**protected)
    client.get(PATH)
    client.get(PATH, headers=bearer("ingest"))
    text = client.get("/metrics").text
    assert 'rankscope_collector_token_failures_total{reason="missing"} 1.0' in text
    assert 'rankscope_collector_token_failures_total{reason="role"} 1.0' in text
