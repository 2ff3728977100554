"""What a reading costs, by count: files that were read before are open, and most say the same."""

import os

import pytest

from rankscope.agent import kernel_files
from rankscope.agent.readers.network import ports

from .conftest import Node, values


@pytest.fixture
def opened(monkeypatch):
    """Return the paths that are opened from now on."""
    found: list[str] = []
    real = os.open

    def noting(path, *args, **kwargs):
        found.append(str(path))
        return real(path, *args, **kwargs)

    monkeypatch.setattr(os, "open", noting)
    return found


@pytest.fixture
def parsed(monkeypatch):
    """Return the texts that are parsed from now on."""
    found: list[object] = []
    real = kernel_files.parsed

    def noting(text):
        found.append(text)
        return real(text)

    monkeypatch.setattr(kernel_files, "parsed", noting)
    return found


def test_the_second_reading_opens_no_counter_and_parses_only_what_changed(tree, opened, parsed):
    port = tree.rdma("mlx5_0", "pci0000:00/0000:00:01.0/0000:0c:00.0")
    tree.put(port / "counters/port_rcv_data", 1000)
    node = Node(tree)
    node.ports.read(100.0)
    tree.put(port / "counters/port_rcv_data", 1500)
    opened.clear()
    parsed.clear()
    found = values(node.ports.read(105.0))
    assert found["hw.network.io", "mlx5_0", "receive"] == 6000
    assert opened == []
    assert parsed == [b"1500\n"]


def test_beyond_a_number_of_files_none_is_held_open(tree, opened, monkeypatch):
    monkeypatch.setattr(ports, "_MOST_HELD", 3)
    tree.rdma("mlx5_0", "pci0000:00/0000:00:01.0/0000:0c:00.0")
    node = Node(tree)
    first = values(node.ports.read(100.0))
    opened.clear()
    assert values(node.ports.read(105.0)) == first
    (state,) = node.ports._found.values()
    assert len(opened) == len(state.found) - 3


def test_series_keep_their_attributes_from_one_look_to_the_next(tree):
    tree.rdma("mlx5_0", "pci0000:00/0000:00:01.0/0000:0c:00.0")
    node = Node(tree)
    first = {id(sample.attributes) for sample in node.ports.read(100.0)}
    assert {id(sample.attributes) for sample in node.ports.read(200.0)} == first
