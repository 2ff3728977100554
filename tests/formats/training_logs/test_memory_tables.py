"""Tables of a host's memory, one after the other: what is held without what the kernel caches."""

import pytest

from rankscope.formats.training_logs import memory_tables

GIB = 2**30


def free(used, total=64, *, unit=1024):
    cells = [total, used, total - used, 1, 4, total - used]
    mem = " ".join(str(one * GIB // unit) for one in cells)
    return f"       total used free shared buff/cache available\nMem: {mem}\nSwap: 0 0 0\n\n"


def free_in_words(used):
    return (
        f"       total used free shared buff/cache available\nMem:  64Gi {used}Gi 9Gi 1Mi 4Gi 9Gi\n"
    )


def old_free(used):
    k = GIB // 1024
    mem = f"Mem: {64 * k} {(used + 5) * k} {(59 - used) * k} 0 {k} {4 * k}"
    without = f"-/+ buffers/cache: {used * k} {9 * k}"
    return f"      total used free shared buffers cached\n{mem}\n{without}\n"


def sar(used):
    k = GIB // 1024
    head = "12:00:01 AM kbmemfree kbmemused %memused kbbuffers kbcached kbcommit %commit"
    return f"{head}\n12:10:01 AM {(59 - used) * k} {(used + 5) * k} 80.0 {k} {4 * k} 0 0.0\n"


@pytest.mark.parametrize("table", [
    free, lambda used: free(used, unit=2**20), free_in_words, old_free, sar,
], ids=["free", "free -m", "free -h", "free of old", "sar -r"])  # fmt: skip
def test_what_is_held_is_read_in_bytes_from_each_table(table):
    lines = "".join(table(used) for used in range(31, 51)).split("\n")
    (column,) = memory_tables.read(lines, 10)
    assert (True, False, 20) == (column.host, column.share, len(column.rows))
    assert [31, 50] == [round(row.held / GIB) for row in (column.rows[0], column.rows[-1])]


def test_vmstat_says_what_is_less_free_than_at_first():
    head = " r  b   swpd   free   buff  cache   si   so\n"
    rows = "".join(f" 1  0  0 {(60 - 3 * n) * 2**20} 0 {2**20}  0  0\n" for n in range(15))
    (column,) = memory_tables.read((head + rows).split("\n"), 10)
    assert [0, 42] == [round(row.held / GIB) for row in (column.rows[0], column.rows[-1])]


@pytest.mark.parametrize("used", [range(2, 22), [50] * 5], ids=["most is left", "too few"])
def test_a_host_that_has_much_left_or_few_tables_say_nothing(used):
    assert [] == memory_tables.read("".join(free(one) for one in used).split("\n"), 10)
