"""Which of several error lines says most of why a process ended."""

import pytest

from rankscope.detectors.liveness import telling
from rankscope.vocabulary.samples import Event


def first_of(*signatures, apart=1.0):
    times = [100.0 + apart * place for place in range(len(signatures))]
    pairs = zip(times, signatures, strict=True)
    found = telling.first(Event("log.fault", at, {"signature": one}) for at, one in pairs)
    return found and found.attributes["signature"]


@pytest.mark.parametrize(("signatures", "first"), [
    (["python.exception", "cuda.ecc"], "cuda.ecc"),
    (["cuda.illegal_access", "gpu.out_of_memory"], "gpu.out_of_memory"),
    (["cuda.illegal_access", "python.exception"], "cuda.illegal_access"),
    (["storage.no_space", "gpu.out_of_memory"], "storage.no_space"),
])  # fmt: skip
def test_the_line_that_says_why_goes_before_one_that_says_that_it_ended(signatures, first):
    assert first == first_of(*signatures)


def test_a_line_of_long_after_says_nothing_of_this_end():
    assert "cuda.illegal_access" == first_of("cuda.illegal_access", "gpu.out_of_memory", apart=90.0)
