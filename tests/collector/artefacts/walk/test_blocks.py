"""A log is cut into blocks where its lines end; of one without an end the beginning is a line."""

import io

import pytest

from rankscope.collector.artefacts.walk import blocks
from rankscope.collector.artefacts.walk.blocks import TextGroup

DUMPED = b"NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.\n"


@pytest.mark.parametrize("size", [1, 7, 64, 1 << 19])
def test_all_bytes_come_once_and_blocks_end_with_lines(monkeypatch, size):
    monkeypatch.setattr(blocks, "_BLOCK", size)
    data = b"one\n\ntwo two two\n" * 20 + b"the end"
    found = list(blocks.blocks(io.BytesIO(data)))
    assert data == b"".join(one.data for one in found)
    assert data + b"\n" == b"".join(one.lines for one in found)
    assert all(one.data.endswith(b"\n") for one in found[:-1])


def test_what_goes_over_blocks_is_one_line_of_which_the_beginning_is_kept(monkeypatch):
    monkeypatch.setattr(blocks, "_BLOCK", 1 << 10)
    monkeypatch.setattr(blocks, "_LONGEST", 1 << 12)
    found = list(blocks.blocks(io.BytesIO(b"x" * (1 << 14) + b"\n" + DUMPED)))
    lines = b"".join(one.lines for one in found)
    assert (2, DUMPED) == (lines.count(b"\n"), lines[lines.find(b"\n") + 1 :])
    assert len(lines) < 1 << 13


def test_places_are_those_of_each_reader_in_the_bytes_and_in_the_lines():
    (block,) = blocks.blocks(io.BytesIO(b"step 1\n" + DUMPED))
    assert 7 in [place for place, _ in block.places[TextGroup.KERNEL]]
    assert block.places[TextGroup.KERNEL] == block.line_places[TextGroup.KERNEL]
    assert [] == block.places[TextGroup.RAS]
