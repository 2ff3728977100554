"""Known texts are found in a block wherever they stand, each by its reader's group."""

import random

import pytest

from rankscope.collector.artefacts.walk.needle_search import NeedleSearch

GROUPS = (
    (b"NVRM", b"oom-kill:", b" timeout", b"memory limit"),
    (b"SIG", b"exited on signal", b"memory"),
    (b"", b"CUDA out of memory"),
)


def slowly(data, text):
    return [at for at in range(len(data)) if text and data.startswith(text, at)]


@pytest.mark.parametrize("seed", range(8))
def test_every_text_is_found_at_whatever_place(seed):
    drawn = random.Random(seed)
    words = [text for group in GROUPS for text in group] + [
        b"step",
        b"\n",
        b"mem",
        b"\xff\x00",
        b" ",
    ]
    data = b"".join(drawn.choice(words) for _ in range(500))
    groups = [[text for text in group if text] for group in GROUPS]
    found = NeedleSearch(groups).places(data)
    for places, texts in zip(found, groups, strict=True):
        assert sorted((at, text) for text in texts for at in slowly(data, text)) == places


@pytest.mark.parametrize("data", [b"", b"N", b"NVRM", b"xNVRM", b"xxxNVR"])
def test_a_block_may_be_as_short_as_a_text(data):
    found = NeedleSearch([[b"NVRM"]]).places(data)
    assert [[(at, b"NVRM") for at in slowly(data, b"NVRM")]] == found


def test_without_texts_nothing_is_found():
    assert [[], []] == NeedleSearch([[], []]).places(b"anything at all\n")
