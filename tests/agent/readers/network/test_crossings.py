"""Limits on a port's counters: the real table of fault knowledge over readings of a real tree."""

import pytest

from rankscope.agent.readers.network.crossings import FOLD_SECONDS, QUIET_SECONDS

from .conftest import Node


class Port:
    """A port whose counters are raised, and the reader that looks at it every five seconds."""

    def __init__(self, tree):
        self.tree = tree
        self.folder = tree.rdma("mlx5_0", "pci0000:00/0000:0c:00.0")
        self.node = Node(tree)
        self.at = 1000.0
        self.node.ports.read(self.at)

    def grow(self, name, by, *, seconds=5.0):
        (path,) = self.folder.glob(f"*counters/{name}")
        self.tree.put(path, int(path.read_text()) + by)
        self.at += seconds
        self.node.ports.read(self.at)
        return [(one["state"], one["class"], one["count"]) for one in self.node.told()]


@pytest.fixture
def port(tree):
    return Port(tree)


@pytest.mark.parametrize(
    "name",
    [
        "link_downed",
        "excessive_buffer_overrun_errors",
        "local_link_integrity_errors",
        "rnr_nak_retry_err",
    ],
)
def test_a_single_count_of_what_never_happens_on_a_good_port_is_fatal(port, name):
    assert port.grow(name, 1) == [("raised", "fatal", 1)]


@pytest.mark.parametrize(
    ("name", "still_fine", "too_many"),
    [
        ("symbol_error", 50, 51),
        ("port_rcv_errors", 50, 51),
        ("local_ack_timeout_err", 5, 6),
        ("port_xmit_discards", 500, 501),
        ("roce_slow_restart", 50, 51),
    ],
)
def test_a_rate_above_its_limit_is_degraded_and_one_at_it_is_not(port, name, still_fine, too_many):
    assert port.grow(name, still_fine) == []
    assert port.grow(name, too_many) == [("raised", "degraded", too_many)]


def test_symbol_errors_of_an_hour_add_up_to_a_fatal_fault(port):
    told = [port.grow("symbol_error", 1, seconds=25.0) for _ in range(122)]
    assert [one for one in told if one] == [[("raised", "fatal", 1)]]
    assert told.index([("raised", "fatal", 1)]) == 120


def test_slow_symbol_errors_never_do(port):
    told = [port.grow("symbol_error", 1, seconds=31.0) for _ in range(400)]
    assert not any(told)


def test_what_gets_worse_is_told_again_at_once(port):
    assert port.grow("symbol_error", 60) == [("raised", "degraded", 60)]
    assert port.grow("symbol_error", 70) == [("raised", "fatal", 70)]


def test_a_fault_that_lasts_is_folded_and_cleared_after_quiet_minutes(port):
    told = []
    for _ in range(int(2 * FOLD_SECONDS / 5)):
        told += port.grow("port_rcv_errors", 100)
    assert [one[0] for one in told] == ["raised", "lasting"]
    assert told[1][2] == 100 * FOLD_SECONDS / 5
    for _ in range(int(QUIET_SECONDS / 5)):
        told += port.grow("port_rcv_errors", 0)
    assert [one[0] for one in told] == ["raised", "lasting", "cleared"]
    assert port.grow("port_rcv_errors", 100)[0][0] == "raised"


def test_a_fault_told_before_a_restart_of_the_agent_is_not_told_again(port):
    port.grow("link_downed", 1)
    port.node.ports.close()
    again = Node(port.tree)
    again.ports.read(port.at + 5)
    assert again.told() == []


def test_what_was_counted_while_the_agent_was_away_is_told(port):
    port.node.ports.close()
    port.tree.put(port.folder / "counters/link_downed", 1)
    port.tree.put(port.folder / "counters/port_rcv_errors", 100_000)
    again = Node(port.tree)
    again.ports.read(port.at + 3600)
    told = again.told()
    assert [one["code"] for one in told] == ["link_downed"]  # of a rate nobody can tell
    assert "while the agent was away" in told[0]["text"]


def test_counters_of_another_boot_are_no_news(port):
    port.node.ports.close()
    port.tree.put(port.folder / "counters/link_downed", 9)
    port.tree.boot("boot-2")
    again = Node(port.tree)
    again.ports.read(port.at + 60)
    assert again.told() == []


def test_a_counter_that_starts_anew_crosses_nothing(port):
    """It may have counted much since, but nobody knows over which time."""
    assert port.grow("port_xmit_discards", 50_000, seconds=1000.0) == []
    assert port.grow("port_xmit_discards", -10_000) == []
    assert port.grow("port_xmit_discards", 501) == [("raised", "degraded", 501)]
