"""The quick search gives every line that a slow one would look at, with its number."""

import io
import random

import pytest

from rankscope.collector.artefacts import telling_lines
from rankscope.formats import kernel_log

TEXTS = (b"NVRM", b"oom-kill:", b"fault", b"mlx5", b" timeout", b'"msg":')
NOISE = (b"step 1 loss 2", b"default value", b"", b"x" * 300, b"\xff\xfe\x00", b"fau lt NVR M")


@pytest.fixture
def log():
    """Return a function that draws a log of some lines, one in `rare` with a text."""

    def draw(seed, count, rare):
        drawn = random.Random(seed)
        lines = [
            drawn.choice(NOISE) + drawn.choice(TEXTS) + drawn.choice(NOISE)
            if drawn.randrange(rare) == 0
            else drawn.choice(NOISE)
            for _ in range(count)
        ]
        return b"\n".join(lines) + drawn.choice([b"", b"\n"])

    return draw


@pytest.mark.parametrize("block", [7, 64, 1000, 1 << 20])
@pytest.mark.parametrize("seed", range(6))
def test_every_line_with_a_text_comes_with_those_above_it(log, monkeypatch, seed, block):
    monkeypatch.setattr(telling_lines, "_BLOCK", block)
    data = log(seed, 400, [1, 3, 20, 100, 300, 1000][seed])
    every = dict(enumerate(io.BytesIO(data), start=1))
    found = list(telling_lines.numbered(io.BytesIO(data), telling_lines.finder(TEXTS), above=3))
    numbers = [number for number, _ in found]
    assert sorted(set(numbers)) == numbers
    assert all(line.rstrip(b"\n") == every[number].rstrip(b"\n") for number, line in found)
    telling = {n for n, line in every.items() if any(text in line for text in TEXTS)}
    needed = {1, *range(max(len(every) - 2, 1), len(every) + 1)}
    needed |= {above for n in telling for above in range(max(n - 3, 1), n + 1)}
    assert needed <= set(numbers)


def test_lines_without_a_text_are_hardly_ever_looked_at(log):
    data = b"ordinary line of a log: loss 2.5, default settings\n" * 20_000
    found = telling_lines.numbered(io.BytesIO(data), telling_lines.finder(TEXTS[:2]), above=3)
    assert 4 == len(list(found))


def test_of_a_line_without_an_end_only_the_beginning_is_held():
    data = b"first\nNVRM" + b"x" * (5 << 20)
    *_, (number, line) = telling_lines.numbered(
        io.BytesIO(data), telling_lines.finder(TEXTS), above=3
    )
    assert (2, True) == (number, line.startswith(b"NVRM"))
    assert len(line) < 2 << 20


def test_every_text_of_the_kernel_is_long_enough_to_be_searched():
    assert all(len(text) >= 4 for text in kernel_log.texts())
