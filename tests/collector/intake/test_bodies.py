"""Bodies that are unpacked: whole, within a bound, and without taking more than they bring."""

import gzip
import os
import subprocess
import sys
import zlib

import cramjam
import pytest

from rankscope.collector.intake import bodies

PACKED = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "zstd": lambda body: bytes(cramjam.zstd.compress(body)),
}
SIZES = (0, 1, 1000, 1 << 16, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 5_000_000)


def status(body, encoding, *, limit):
    """Return the status with which a body is refused."""
    with pytest.raises(bodies.BodyError) as refused:
        bodies.unpack(body, encoding, limit=limit)
    return refused.value.status


@pytest.mark.parametrize("encoding", PACKED)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", [bytes, os.urandom, lambda size: (b"loss=1 " * size)[:size]])
def test_a_body_of_any_size_is_unpacked_whole(encoding, size, kind):
    body = kind(size)
    assert body == bodies.unpack(PACKED[encoding](body), encoding, limit=size)


@pytest.mark.parametrize("encoding", PACKED)
@pytest.mark.parametrize("size", SIZES[1:])
def test_a_byte_over_the_limit_is_413(encoding, size):
    assert 413 == status(PACKED[encoding](bytes(size)), encoding, limit=size - 1)


@pytest.mark.parametrize("encoding", PACKED)
@pytest.mark.parametrize("size", SIZES)
def test_a_body_cut_short_is_400(encoding, size):
    whole = PACKED[encoding](os.urandom(size))
    assert {400} == {status(whole[:-cut], encoding, limit=size) for cut in (1, len(whole) // 2)}


def test_members_of_gzip_follow_each_other_up_to_a_few():
    one = gzip.compress(b"ab" * 50_000)
    assert b"ab" * 800_000 == bodies.unpack(one * 16, "gzip", limit=1 << 21)
    assert 400 == status(one * 17, "gzip", limit=1 << 21)


GROWTH = """
import resource, sys
from rankscope.collector.intake import bodies
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert b"small" == bodies.unpack(sys.stdin.buffer.read(), sys.argv[1], limit=256 << 20)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
"""Prints KiB; in a process of its own, because the most that a process had never falls."""


@pytest.mark.parametrize("encoding", PACKED)
def test_a_small_body_takes_no_memory_of_the_limit(encoding):
    packed = PACKED[encoding](b"small")
    answer = subprocess.run(
        [sys.executable, "-c", GROWTH, encoding], input=packed, capture_output=True, check=True
    )
    assert int(answer.stdout) < 16 << 10
