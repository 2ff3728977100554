"""Segment files: what is appended is read back, and damage is never taken for data."""

import errno
import os
import subprocess
import sys
from typing import Any

import pytest

from rankscope.formats import segments
from rankscope.formats.segments import SegmentError, SegmentWriter, read, trim
from rankscope.formats.segments.format import CODECS, MAGIC

PAYLOADS = [b"", b"a", b"metrics " * 50, bytes(range(256))]


def write(folder, payloads=PAYLOADS, **options):
    with SegmentWriter(folder, **options) as writer:
        for number, payload in enumerate(payloads):
            writer.append(number % 5, number * 10**9, payload)
    return segments.segments(folder)


def contents(folder, **options):
    return [(record.kind, record.at_ns, record.payload) for record in read(folder, **options)]


def expected(payloads=PAYLOADS):
    return [(number % 5, number * 10**9, payload) for number, payload in enumerate(payloads)]


@pytest.mark.parametrize("codec", ["raw", "zlib", "zstd"])
def test_records_come_back_in_order(tmp_path, codec):
    write(tmp_path, codec=codec)
    assert contents(tmp_path) == expected()


def test_compression_makes_it_smaller_and_never_larger(tmp_path):
    for codec in ("zlib", "zstd"):
        with SegmentWriter(tmp_path / codec, codec=codec) as writer:
            assert writer.append(1, 0, b"metrics " * 50) < 100
            assert writer.append(1, 0, bytes(range(256))) == 256 + 22


def test_append_returns_the_bytes_and_size_adds_them_up(tmp_path):
    with SegmentWriter(tmp_path, segment_bytes=300) as writer:
        appended = [writer.append(1, 0, payload) for payload in PAYLOADS]
        files = segments.segments(tmp_path)
        assert writer.size == sum(appended) + 8 * len(files)
        assert writer.size == sum(path.stat().st_size for path in files)
        assert len(files) > 1


def test_files_sort_in_the_order_of_writing_over_restarts(tmp_path):
    payloads = [bytes((number,)) * 40 for number in range(60)]
    for start in range(0, 60, 6):
        write(tmp_path, payloads[start : start + 6], segment_bytes=150, codec="raw")
    assert [record.payload for record in read(tmp_path)] == payloads
    assert len(segments.segments(tmp_path)) == 30


def test_a_number_never_comes_again_though_all_files_are_deleted(tmp_path):
    """Else a reader that remembers where it was would pass over new files."""
    (first,) = write(tmp_path)
    first.unlink()
    (second,) = write(tmp_path)
    assert second.name > first.name


def test_a_record_larger_than_a_segment_has_one_to_itself(tmp_path):
    write(tmp_path, [os.urandom(500)] * 3, segment_bytes=100)
    assert len(segments.segments(tmp_path)) == 3
    assert len(contents(tmp_path)) == 3


def test_a_writer_that_wrote_nothing_leaves_no_file(tmp_path):
    with SegmentWriter(tmp_path) as writer:
        writer.sync()
    assert segments.segments(tmp_path) == []
    assert contents(tmp_path) == []
    assert segments.segments(tmp_path / "none") == []


def test_a_reader_goes_on_where_it_was(tmp_path):
    payloads = [bytes((number,)) * 40 for number in range(20)]
    write(tmp_path, payloads, segment_bytes=150, codec="raw")
    records = list(read(tmp_path))
    for number, record in enumerate(records):
        rest = list(read(tmp_path, after=(record.segment, record.end)))
        assert rest == records[number + 1 :]


def test_a_reader_whose_file_was_deleted_goes_on_with_the_next(tmp_path):
    payloads = [bytes((number,)) * 40 for number in range(6)]
    files = write(tmp_path, payloads, segment_bytes=150, codec="raw")
    first = next(iter(read(tmp_path)))
    files[0].unlink()
    rest = [record.payload for record in read(tmp_path, after=(first.segment, first.end))]
    assert rest == payloads[2:]


def test_a_reader_sees_what_a_writer_has_appended_so_far(tmp_path):
    with SegmentWriter(tmp_path) as writer:
        writer.append(1, 5, b"one")
        (record,) = read(tmp_path)
        writer.append(1, 6, b"two")
        (second,) = read(tmp_path, after=(record.segment, record.end))
    assert (record.payload, second.payload) == (b"one", b"two")


@pytest.mark.parametrize("codec", ["raw", "zlib"])
def test_a_file_cut_off_anywhere_gives_the_records_before_the_cut(tmp_path, codec):
    (path,) = write(tmp_path, codec=codec)
    whole = path.read_bytes()
    ends = [record.end for record in read(path)]
    for cut in range(len(whole) + 1):
        path.write_bytes(whole[:cut])
        torn: list[Any] = []
        found = contents(path, torn=lambda file, offset, torn=torn: torn.append((file, offset)))
        complete = [end for end in ends if end <= cut]
        assert found == expected()[: len(complete)]
        begin = complete[-1] if complete else 8 if cut >= 8 else 0
        assert torn == ([(path, begin)] if cut not in (0, begin) else [])


@pytest.mark.parametrize("blocks", [1, 5000])
def test_a_file_that_ends_in_zeros_is_cut_off_there(tmp_path, blocks):
    """A filesystem may have lengthened the file before the power went."""
    (path,) = write(tmp_path, codec="raw")
    whole = path.read_bytes()
    ends = [8, *(record.end for record in read(path))]
    for cut in range(len(whole)):
        path.write_bytes(whole[:cut] + bytes(blocks))
        found = contents(path, torn=lambda *_: None)
        # A cut inside zeros of the payload, refilled with zeros, leaves the record whole.
        assert found == expected()[: len(found)]
        assert len(found) >= sum(end <= cut for end in ends) - 1


def test_every_single_damaged_byte_is_noticed(tmp_path):
    """Damage before the last record is an error with its position, never a wrong record."""
    (path,) = write(tmp_path)
    whole = path.read_bytes()
    records = list(read(path))
    for at in range(len(whole)):
        for flip in (0x01, 0x80, 0xFF):
            path.write_bytes(whole[:at] + bytes((whole[at] ^ flip,)) + whole[at + 1 :])
            torn: list[Any] = []
            if at < records[-1].offset:
                with pytest.raises(SegmentError) as caught:
                    contents(path)
                begin = max((one.offset for one in records if one.offset <= at), default=0)
                assert str(caught.value).startswith(f"{path} at {begin}: ")
            else:
                try:
                    found = contents(path, torn=lambda *where, torn=torn: torn.append(where))
                except SegmentError:
                    continue
                assert found == expected()[:-1]
                assert torn == [(path, records[-1].offset)]


def test_damage_in_one_file_is_told_though_more_files_follow(tmp_path):
    first, *_ = write(tmp_path, [b"x" * 40] * 6, segment_bytes=150, codec="raw")
    data = bytearray(first.read_bytes())
    data[8 + 22] ^= 1
    first.write_bytes(data)
    with pytest.raises(SegmentError, match="a record whose checksum is wrong"):
        contents(tmp_path)


def test_a_torn_tail_is_passed_over_and_later_files_are_read(tmp_path):
    (first,) = write(tmp_path)
    first.write_bytes(first.read_bytes()[:-3])
    write(tmp_path)
    torn: list[Any] = []
    found = contents(tmp_path, torn=lambda file, _: torn.append(file))
    assert found == expected()[:-1] + expected()
    assert torn == [first]


def test_a_file_of_another_kind_is_refused(tmp_path):
    path = tmp_path / "0000000000000001.seg"
    path.write_bytes(b"something else altogether")
    with pytest.raises(SegmentError, match="at 0: no segment file of this version"):
        contents(tmp_path)


def test_other_files_in_the_folder_are_left_alone(tmp_path):
    (tmp_path / "notes.seg").write_text("x")
    (tmp_path / "README").write_text("x")
    write(tmp_path)
    assert contents(tmp_path) == expected()


def test_two_writers_cannot_share_a_folder(tmp_path):
    with (
        SegmentWriter(tmp_path),
        pytest.raises(segments.LockedError, match="another process writes here"),
    ):
        SegmentWriter(tmp_path)
    SegmentWriter(tmp_path).close()


def test_the_lock_of_a_killed_process_is_free_and_its_synced_records_are_there(tmp_path):
    program = (
        "import os, sys, pathlib\n"
        "from rankscope.formats.segments import SegmentWriter\n"
        "writer = SegmentWriter(pathlib.Path(sys.argv[1]))\n"
        "writer.append(1, 7, b'kept')\n"
        "writer.sync()\n"
        "os.kill(os.getpid(), 9)\n"
    )
    ended = subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False)
    assert ended.returncode == -9
    with SegmentWriter(tmp_path) as writer:
        writer.append(2, 8, b"more")
    assert contents(tmp_path) == [(1, 7, b"kept"), (2, 8, b"more")]


def test_a_disk_that_fills_up_leaves_no_part_of_a_record(tmp_path, monkeypatch):
    real = os.write

    def full(file, data):
        if len(data) > 100:
            return real(file, data[:60])
        raise OSError(errno.ENOSPC, "no space left")

    writer = SegmentWriter(tmp_path, codec="raw")
    writer.append(1, 1, b"before")
    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="no space left"):
        writer.append(1, 2, bytes(120))
    monkeypatch.undo()
    writer.append(1, 3, b"after")
    writer.close()
    assert contents(tmp_path) == [(1, 1, b"before"), (1, 3, b"after")]


@pytest.mark.parametrize(("kind", "at_ns"), [(256, 0), (-1, 0), (0, 2**63)])
def test_what_the_header_cannot_hold_is_refused(tmp_path, kind, at_ns):
    with SegmentWriter(tmp_path) as writer, pytest.raises(ValueError, match="kind"):
        writer.append(kind, at_ns, b"x")


def test_close_may_be_called_twice(tmp_path):
    writer = SegmentWriter(tmp_path)
    writer.append(1, 1, b"x")
    writer.close()
    before = [path.read_bytes() for path in tmp_path.iterdir()]
    writer.close()
    assert before == [path.read_bytes() for path in tmp_path.iterdir()]
    assert contents(tmp_path) == [(1, 1, b"x")]


def test_zstd_without_cramjam_says_what_to_install(tmp_path, monkeypatch):
    write(tmp_path, [b"metrics " * 500], codec="zstd")
    monkeypatch.setitem(sys.modules, "cramjam", None)
    with pytest.raises(SegmentError, match=r"pip install 'rankscope\[collector\]'"):
        SegmentWriter(tmp_path / "other", codec="zstd")
    with pytest.raises(SegmentError, match=r"at \d+: zstd needs cramjam"):
        contents(tmp_path)


def test_small_payloads_are_stored_in_the_quicker_of_two_codecs(tmp_path):
    codecs = []
    for payload in (b"metrics " * 50, b"metrics " * 500):
        (file,) = write(tmp_path / str(len(payload)), [payload], codec="zstd")
        codecs.append(CODECS[file.read_bytes()[len(MAGIC) + 5]])
    assert ["lz4", "zstd"] == codecs


def test_trim_by_size_removes_the_oldest_and_keeps_the_newest(tmp_path):
    files = write(tmp_path, [os.urandom(80)] * 10, segment_bytes=150)
    assert len(files) == 10
    size = files[0].stat().st_size
    removed = trim(tmp_path, max_bytes=3 * size, max_age_seconds=1e9, now=0.0)
    assert removed == files[:7]
    assert segments.segments(tmp_path) == files[7:]
    assert trim(tmp_path, max_bytes=0, max_age_seconds=1e9, now=0.0) == files[7:9]
    assert segments.size(tmp_path) == size


def test_trim_by_age_removes_a_file_when_all_its_records_are_too_old(tmp_path):
    files = write(
        tmp_path, [bytes((number,)) * 40 for number in range(9)], segment_bytes=150, codec="raw"
    )
    ages = [[record.at_ns // 10**9 for record in read(path)] for path in files]
    assert ages[:2] == [[0, 1], [2, 3]]
    options: dict[str, Any] = {"max_bytes": 1 << 30, "max_age_seconds": 100.0}
    assert trim(tmp_path, now=101.5, **options) == []
    assert trim(tmp_path, now=102.5, **options) == files[:1]
    assert trim(tmp_path, now=1e6, **options) == files[1:-1]


def test_a_sync_that_fails_when_a_file_is_full_is_an_error_of_the_next_sync(tmp_path, monkeypatch):
    def fails(_file):
        raise OSError(errno.EIO, "Input/output error")

    with SegmentWriter(tmp_path, segment_bytes=120, codec="raw") as writer:
        writer.append(1, 0, bytes(60))
        with monkeypatch.context() as broken:
            broken.setattr(os, "fdatasync", fails)
            with pytest.raises(OSError, match="Input/output"):
                writer.append(1, 1, bytes(60))
        with pytest.raises(OSError, match="Input/output"):
            writer.sync()
        writer.sync()
        writer.append(1, 2, bytes(60))
        writer.sync()


def test_what_was_not_synced_can_be_cut_off(tmp_path):
    with SegmentWriter(tmp_path, codec="raw") as writer:
        writer.append(1, 0, b"kept")
        writer.sync()
        writer.append(1, 1, b"lost")
        writer.drop_unsynced()
        writer.append(1, 2, b"next")
    assert [payload for _, _, payload in contents(tmp_path)] == [b"kept", b"next"]


def test_a_reader_in_the_middle_gets_the_context_before_it(tmp_path):
    with SegmentWriter(tmp_path, codec="raw") as writer:
        for kind, payload in ((1, b"a"), (9, b"context"), (1, b"b"), (1, b"c")):
            writer.append(kind, 0, payload)
    records = list(read(tmp_path))
    after = (records[2].segment, records[2].end)
    found = [row.payload for row in read(tmp_path, after=after, context=frozenset((9,)))]
    assert found == [b"context", b"c"]


def test_the_newest_time_is_read_from_headers_alone(tmp_path):
    (file,) = write(tmp_path)
    assert segments.last_at_ns(file) == 3 * 10**9
    file.write_bytes(file.read_bytes()[:8])
    assert segments.last_at_ns(file) is None


def test_a_rewritten_file_is_the_old_one_or_the_new_one(tmp_path, monkeypatch):
    path = tmp_path / "state"
    segments.rewrite(path, [b"old"])

    def fails(_file):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(os, "fsync", fails)
        with pytest.raises(OSError, match="No space"):
            segments.rewrite(path, [b"new"])
    assert [file.read_bytes() for file in tmp_path.iterdir()] == [b"old"]
    segments.rewrite(path, [b"n", b"ew"])
    assert path.read_bytes() == b"new"


def test_lock_and_files_are_for_their_owner_alone(tmp_path):
    """Who may read the lock may hold it, and keep the next writer out."""
    (tmp_path / "lock").touch(0o644)
    with segments.SegmentWriter(tmp_path) as writer:
        writer.append(1, 0, b"telemetry")
    assert {0o600} == {file.stat().st_mode & 0o777 for file in tmp_path.iterdir()}
