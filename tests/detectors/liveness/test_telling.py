"""Which of several error lines says most of why a process ended."""

import pytest

from rankscope.detectors.liveness import telling
from rankscope.vocabulary.samples import Event


def lines(*signatures, apart=1.0):
    return [
        Event("log.fault", 100.0 + apart * n, {"signature": s}) for n, s in enumerate(signatures)
    ]


@pytest.mark.parametrize(("signatures", "first"), [
    (["python.exception", "cuda.ecc"], "cuda.ecc"),
    (["cuda.illegal_access", "gpu.out_of_memory"], "gpu.out_of_memory"),
    (["cuda.illegal_access", "python.exception"], "cuda.illegal_access"),
    (["storage.no_space", "gpu.out_of_memory"], "storage.no_space"),
])  # fmt: skip
def test_the_line_that_says_why_goes_before_one_that_says_that_it_ended(signatures, first):
    assert first == telling.first(lines(*signatures)).attributes["signature"]


def test_a_line_of_long_after_says_nothing_of_this_end():
    found = telling.first(lines("cuda.illegal_access", "gpu.out_of_memory", apart=90.0))
    assert "cuda.illegal_access" == found.attributes["signature"]
