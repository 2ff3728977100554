import errno
import os
import tracemalloc

import pytest

from rankscope.agent.spool import DiskSpool, SpoolError


@pytest.fixture
def opened(tmp_path, health):
    """Open spools in one folder, one after the other."""
    held = []

    def open_(max_bytes: int = 1 << 20) -> DiskSpool:
        spool = DiskSpool(tmp_path / "spool", max_bytes=max_bytes, health=health)
        held.append(spool)
        return spool

    yield open_
    for spool in held:
        spool.close()


def emptied(spool: DiskSpool, most: int = 1 << 30) -> list[bytes]:
    found: list[bytes] = []
    while len(found) < most and (record := spool.first()) is not None:
        found.append(record.payload)
        spool.done(record)
    return found


def numbered(count: int, start: int = 0, size: int = 0) -> list[bytes]:
    return [f"{number:08}".encode().ljust(size, b".") for number in range(start, start + count)]


def fill(spool: DiskSpool, payloads: list[bytes]) -> None:
    for payload in payloads:
        spool.append(1, 1_000, payload)


def on_disk(tmp_path) -> int:
    return sum(path.stat().st_size for path in (tmp_path / "spool").glob("*.seg"))


def test_batches_come_out_in_order_with_their_kinds(opened):
    spool = opened()
    spool.append(1, 5, b"metrics")
    spool.append(2, 6, b"logs")
    first = spool.first()
    assert (first.kind, first.at_ns, first.payload) == (1, 5, b"metrics")
    assert spool.first() is first
    spool.done(first)
    assert (spool.first().kind, spool.first().payload) == (2, b"logs")


def test_an_empty_spool_has_no_first(opened):
    spool = opened()
    assert spool.first() is None
    assert (spool.records, spool.size) == (0, 0)


def test_what_waits_survives_a_restart_and_what_was_sent_does_not_come_again(opened):
    spool = opened()
    fill(spool, numbered(100))
    assert emptied(spool, 40) == numbered(40)
    spool.close()
    again = opened()
    assert again.records == 60
    fill(again, numbered(5, start=100))
    assert emptied(again) == numbered(65, start=40)


def test_nothing_is_lost_when_the_agent_is_killed(opened, tmp_path, health):
    pid = os.fork()
    if pid == 0:
        spool = DiskSpool(tmp_path / "spool", max_bytes=1 << 20, health=health)
        fill(spool, numbered(50))
        emptied(spool, 20)
        os.kill(os.getpid(), 9)
    os.waitpid(pid, 0)
    assert emptied(opened()) == numbered(30, start=20)


def test_a_batch_cut_off_by_a_crash_costs_only_itself(opened, tmp_path):
    spool = opened()
    fill(spool, numbered(10))
    spool.close()
    (path,) = (tmp_path / "spool").glob("*.seg")
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - 3)
    again = opened()
    fill(again, [b"next"])
    assert emptied(again) == [*numbered(9), b"next"]


def test_a_damaged_file_costs_what_follows_the_damage_in_it(opened, tmp_path):
    spool = opened()
    fill(spool, numbered(10))
    spool.close()
    (path,) = (tmp_path / "spool").glob("*.seg")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)
    again = opened()
    fill(again, [b"next"])
    found = emptied(again)
    assert found[-1] == b"next"
    assert found[:-1] == numbered(len(found) - 1)
    assert 0 < len(found) - 1 < 10


def test_a_file_damaged_while_it_waits_is_counted_and_passed_over(opened, tmp_path, health):
    spool = opened(max_bytes=1 << 18)
    fill(spool, numbered(100, size=1000))
    first = min((tmp_path / "spool").glob("*.seg"))
    first.write_bytes(b"\xff" * 500)
    emptied_after = emptied(spool)
    assert emptied_after == numbered(len(emptied_after), start=100 - len(emptied_after), size=1000)
    assert health.counted("spool_dropped", "damaged") == 100 - len(emptied_after)
    assert spool.records == 0


def test_a_full_spool_gives_up_the_oldest_counts_them_and_stays_in_bounds(opened, tmp_path, health):
    spool = opened(max_bytes=1 << 20)
    for payload in numbered(4000, size=1000):
        spool.append(1, 1, payload)
        assert spool.size <= 1 << 20
    assert on_disk(tmp_path) == spool.size
    found = emptied(spool)
    lost = int(health.counted("spool_dropped", "full"))
    assert found == numbered(4000 - lost, start=lost, size=1000)
    assert len(found) * 1022 > (1 << 20) * 15 // 16 - (1 << 16)


def test_the_batch_being_sent_may_be_given_up_meanwhile(opened, health):
    spool = opened(max_bytes=64 << 10)
    fill(spool, numbered(1, size=1000))
    sending = spool.first()
    fill(spool, numbered(200, start=1, size=1000))
    spool.done(sending)
    lost = int(health.counted("spool_dropped", "full"))
    assert lost > 0
    assert emptied(spool) == numbered(201 - lost, start=lost, size=1000)


def test_files_that_are_done_with_are_deleted(opened, tmp_path):
    spool = opened(max_bytes=1 << 20)
    fill(spool, numbered(500, size=1000))
    assert len(list((tmp_path / "spool").glob("*.seg"))) > 5
    emptied(spool)
    assert len(list((tmp_path / "spool").glob("*.seg"))) == 1
    spool.close()
    assert list((tmp_path / "spool").glob("*.seg")) == []


def test_files_numbered_anew_are_not_mistaken_for_ones_that_were_sent(opened):
    spool = opened()
    fill(spool, numbered(50))
    emptied(spool)
    spool.close()
    again = opened()
    fill(again, numbered(3))
    again.close()
    assert emptied(opened()) == numbered(3)


def test_a_torn_note_of_what_was_sent_sends_twice_rather_than_never(opened, tmp_path):
    spool = opened()
    fill(spool, numbered(10))
    emptied(spool, 4)
    spool.close()
    (tmp_path / "spool" / "sent").write_bytes(b"\0\0\0")
    assert emptied(opened()) == numbered(10)


def test_a_second_agent_in_the_same_folder_is_told_what_to_do(opened, tmp_path, health):
    opened()
    with pytest.raises(SpoolError, match=r"another agent.*spool\.folder"):
        DiskSpool(tmp_path / "spool", max_bytes=1 << 20, health=health)


def _full(*_):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_costs_batches_and_is_survived(opened, health, monkeypatch):
    spool = opened()
    fill(spool, numbered(3))
    with monkeypatch.context() as disk:
        disk.setattr(os, "write", _full)
        fill(spool, numbered(2, start=3))
    fill(spool, numbered(2, start=5))
    assert emptied(spool) == [*numbered(3), *numbered(2, start=5)]
    assert health.counted("spool_dropped", "disk") == 2


def test_an_hour_away_loses_nothing_within_the_bound_and_takes_no_memory(opened, tmp_path):
    """A batch a second for an hour, then a collector again; twice, to see that nothing stays."""
    spool = opened(max_bytes=64 << 20)
    payload = os.urandom(4000)

    def hour() -> tuple[int, int]:
        for second in range(3600):
            spool.append(1, second, f"{second:08}".encode() + payload)
        waiting = tracemalloc.get_traced_memory()[0]
        bytes_waiting = on_disk(tmp_path)
        seconds = []
        while (record := spool.first()) is not None:
            seconds.append(int(record.payload[:8]))
            spool.done(record)
        assert seconds == list(range(3600))
        return waiting, bytes_waiting

    tracemalloc.start()
    try:
        hour()
        before = tracemalloc.get_traced_memory()[0]
        waiting, bytes_waiting = hour()
        after = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert 3600 * 4000 < bytes_waiting < 64 << 20
    assert waiting - before < 256 << 10
    assert after - before < 16 << 10
