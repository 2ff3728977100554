"""What is kept of a log for kernels: every line with a text of theirs, with its number."""

import random

import pytest

from rankscope.collector.artefacts.walk import blocks, telling_lines
from rankscope.collector.artefacts.walk.telling_lines import TellingLines
from rankscope.formats import kernel_log

TEXTS = (b"NVRM", b"oom-kill:", b"mlx5", b'"msg":')
NOISE = (b"step 1 loss 2", b"default value", b"", b"x" * 300, b"\xff\xfe\x00", b"fau lt NVR M")


@pytest.fixture
def lines(tmp_path):
    """Return a function that gives the lines of a log that are kept, by number."""

    def read(data):
        path = tmp_path / "log"
        path.write_bytes(data)
        telling = TellingLines(path)
        with path.open("rb") as opened:
            for block in blocks.blocks(opened):
                telling.learn(block)
        found = list(telling.lines())
        assert sorted({number for number, *_ in found}) == [number for number, *_ in found]
        return {number: line for number, line, _ in found}

    return read


def drawn_log(seed, count, rare):
    drawn = random.Random(seed)
    each = [
        drawn.choice(NOISE) + drawn.choice(TEXTS) + drawn.choice(NOISE)
        if drawn.randrange(rare) == 0
        else drawn.choice(NOISE)
        for _ in range(count)
    ]
    return b"\n".join(each) + drawn.choice([b"", b"\n"])


@pytest.mark.parametrize("held", [0, 1 << 20])
@pytest.mark.parametrize("block", [7, 1000, 1 << 20])
@pytest.mark.parametrize("seed", range(5))
def test_every_line_with_a_text_comes_with_those_above_it(lines, monkeypatch, seed, block, held):
    monkeypatch.setattr(blocks, "_BLOCK", block)
    monkeypatch.setattr(telling_lines, "_MOST_HELD", held)
    data = drawn_log(seed, 300, [1, 3, 20, 100, 300][seed])
    every = dict(enumerate(data.removesuffix(b"\n").split(b"\n"), start=1))
    found = lines(data)
    assert all(line.rstrip(b"\n") == every[number] for number, line in found.items())
    telling = {n for n, line in every.items() if any(text in line for text in TEXTS)}
    above = kernel_log.MOST_ABOVE
    needed = {1, *range(max(len(every) - above + 1, 1), len(every) + 1)}
    needed |= {near for n in telling for near in range(max(n - above, 1), n + 1)}
    assert needed <= found.keys()


def test_lines_without_a_text_are_not_kept(lines):
    found = lines(b"ordinary line of a log: loss 2.5, usual settings\n" * 20_000)
    assert 1 + kernel_log.MOST_ABOVE == len(found)


def test_of_a_line_without_an_end_only_the_beginning_is_held(lines):
    found = lines(b"first\nNVRM" + b"x" * (5 << 20))
    assert found[2].startswith(b"NVRM")
    assert len(found[2]) < 2 << 20
