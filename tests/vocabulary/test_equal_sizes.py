"""Which numbers of elements are the same on every member of a collective."""

import pytest

from rankscope.vocabulary.equal_sizes import equal_size


@pytest.mark.parametrize(("op", "found"), [
    ("ALLREDUCE", "64/512"), ("_ALLGATHER_BASE", "64/512"), ("broadcast", "64/512"),
    ("ALLGATHER", "512"), ("REDUCE_SCATTER", "64"),
    ("ALLTOALL_BASE", ""), ("GATHER", ""), ("SEND", ""), ("ALLREDUCE_SPARSE", ""),
])  # fmt: skip
def test_what_is_equal_depends_on_the_kind(op, found):
    assert found == equal_size(op, "64", "512")


def test_a_size_that_was_never_set_compares_with_none():
    unset = str((1 << 64) - 1)
    assert "" == equal_size("ALLREDUCE", unset, unset) == equal_size("ALLREDUCE", None, None)
