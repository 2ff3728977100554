"""The journal: what was written is read back, after crashes and full disks too."""

import errno
import os
import shutil
from types import SimpleNamespace

import numpy as np
import pytest

from rankscope.collector.journal import journal as journals
from rankscope.collector.journal import room
from rankscope.collector.journal.entries import JournalEntry
from rankscope.collector.journal.journal import FileJournal
from rankscope.collector.journal.kinds import PayloadKind
from rankscope.collector.settings.journal import JournalSettings
from rankscope.formats import segments

SECOND = 1_000_000_000
START = 1_700_000_000 * SECOND


def entry(number, at_seconds=0.0, size=8):
    body = number.to_bytes(4) * (size // 4)
    return JournalEntry(PayloadKind.METRICS_PROTOBUF, START + int(at_seconds * SECOND), body)


@pytest.fixture
def settings():
    return JournalSettings(segment_bytes=1 << 16)


@pytest.fixture
def journal(tmp_path, settings):
    opened = FileJournal(tmp_path / "journal", settings)
    yield opened
    opened.close()


def test_entries_come_back_as_they_were_in_their_order(journal, tmp_path):
    written = [entry(number, number) for number in range(20)]
    journal.write(written[:7])
    journal.write(written[7:])
    assert list(journals.read(tmp_path / "journal")) == written


def test_a_second_collector_on_the_same_folder_is_refused(journal, tmp_path, settings):
    with pytest.raises(segments.LockedError):
        FileJournal(tmp_path / "journal", settings)


def test_a_record_cut_off_by_a_crash_does_not_hide_what_came_before_or_after(tmp_path, settings):
    folder = tmp_path / "journal"
    first = FileJournal(folder, settings)
    first.write([entry(1), entry(2)])
    first.close()
    (file,) = segments.segments(folder)
    file.write_bytes(file.read_bytes()[:-3])
    second = FileJournal(folder, settings)
    second.write([entry(3)])
    second.close()
    assert [got.body for got in journals.read(folder)] == [entry(1).body, entry(3).body]


def test_a_full_disk_refuses_the_rest_of_a_group_and_heals(journal, tmp_path, monkeypatch):
    writer = journal._writer
    append, calls = writer.append, []

    def full_after_two(kind, at_ns, payload):
        calls.append(payload)
        if len(calls) > 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        return append(kind, at_ns, payload)

    monkeypatch.setattr(writer, "append", full_after_two)
    written = journal.write([entry(1), entry(2), entry(3)])
    assert (written.entries, written.failure.errno) == (2, errno.ENOSPC)
    monkeypatch.undo()
    assert journal.write([entry(3)]).entries == 1
    bodies = [got.body for got in journals.read(tmp_path / "journal")]
    assert bodies == [entry(1).body, entry(2).body, entry(3).body]


def test_after_a_failed_sync_the_next_group_goes_to_another_file(journal, tmp_path, monkeypatch):
    def fails():
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(journal._writer, "sync", fails)
    refused = journal.write([entry(1)])
    assert (refused.entries, refused.failure.errno) == (0, errno.EIO)
    monkeypatch.undo()
    assert journal.write([entry(2)]).entries == 1
    assert len(segments.segments(tmp_path / "journal")) == 2


def test_the_last_stretch_is_counted_from_the_newest_entry_and_spans_segments(tmp_path, settings):
    folder = tmp_path / "journal"
    for part in range(4):
        opened = FileJournal(folder, settings)
        opened.write([entry(part * 10 + n, part * 100 + n * 10) for n in range(10)])
        opened.close()
    opened = FileJournal(folder, settings)
    times = [(got.at_ns - START) / SECOND for got, _ in opened.latest(150)]
    opened.close()
    assert times == [240, 250, 260, 270, 280, 290, *range(300, 400, 10)]


def test_damage_in_the_middle_costs_a_restart_only_the_rest_of_that_segment(tmp_path, settings):
    folder = tmp_path / "journal"
    for part in range(2):
        opened = FileJournal(folder, settings)
        opened.write([entry(part * 10 + n, part) for n in range(3)])
        opened.close()
    first = segments.segments(folder)[0]
    data = bytearray(first.read_bytes())
    data[60] ^= 0xFF
    first.write_bytes(data)
    opened = FileJournal(folder, settings)
    assert [got.body for got, _ in opened.latest(100)][-3:] == [
        entry(10 + n).body for n in range(3)
    ]
    opened.close()
    with pytest.raises(segments.SegmentError):
        list(journals.read(folder))


def test_old_segments_go_and_the_newest_stays(tmp_path, settings):
    folder = tmp_path / "journal"
    for part in range(3):
        opened = FileJournal(folder, settings)
        opened.write([entry(part, part * 86_400.0)])
        opened.close()
    opened = FileJournal(folder, settings)
    opened.write([entry(9, 9 * 86_400.0)])
    left = opened.trim(START / SECOND + 9 * 86_400.0 + 1)
    opened.close()
    assert [got.body for got in journals.read(folder)] == [entry(2).body, entry(9).body]
    assert left == segments.size(folder)


def test_a_kind_of_a_newer_version_is_named_and_not_guessed(tmp_path, settings):
    with segments.SegmentWriter(tmp_path) as writer:
        writer.append(200, START, b"x")
    with pytest.raises(segments.SegmentError, match="kind 200"):
        list(journals.read(tmp_path))


def test_nothing_is_acknowledged_whose_file_could_not_be_synced_when_it_was_full(
    tmp_path, monkeypatch
):
    """The bytes are in the page cache at best: the sender keeps them and sends them again."""
    journal = FileJournal(tmp_path / "journal", JournalSettings(segment_bytes=1 << 16))
    random = np.random.default_rng(1)

    def large(number):
        return JournalEntry(PayloadKind.METRICS_PROTOBUF, START + number, random.bytes(40_000))

    assert journal.write([large(1)]).entries == 1
    calls = []
    sync = os.fdatasync

    def fails_once(file):
        calls.append(file)
        if len(calls) == 1:
            raise OSError(errno.EIO, "Input/output error")
        sync(file)

    monkeypatch.setattr(os, "fdatasync", fails_once)
    written = journal.write([entry(2), large(3)])
    assert written.entries == 0
    assert isinstance(written.failure, OSError)
    monkeypatch.undo()
    assert journal.write([large(4)]).entries == 1
    journal.close()


def test_a_group_that_fails_in_its_second_file_keeps_what_is_in_the_first(tmp_path, monkeypatch):
    journal = FileJournal(tmp_path / "journal", JournalSettings(segment_bytes=1 << 16))
    random = np.random.default_rng(1)
    group = [
        JournalEntry(PayloadKind.METRICS_PROTOBUF, START + n, random.bytes(40_000))
        for n in range(2)
    ]
    calls = []
    sync = os.fdatasync

    def fails_later(file):
        calls.append(file)
        if len(calls) == 2:
            raise OSError(errno.EIO, "Input/output error")
        sync(file)

    monkeypatch.setattr(os, "fdatasync", fails_later)
    written = journal.write(group)
    monkeypatch.undo()
    journal.close()
    assert (written.entries, len(written.ends)) == (1, 1)
    assert list(journals.read(tmp_path / "journal")) == group[:1]


def test_a_reader_goes_on_from_any_offset(tmp_path, settings):
    journal = FileJournal(tmp_path / "journal", settings)
    entries = [entry(number, number, size=4000) for number in range(40)]
    ends = [end for part in range(0, 40, 4) for end in journal.write(entries[part : part + 4]).ends]
    for start in range(40):
        assert [got for got, _ in journal.read(ends[start])] == entries[start + 1 :]
    assert list(journal.read(None)) == list(zip(entries, ends, strict=True))
    assert journal.last_at_ns() == entries[-1].at_ns
    assert all(journal.holds(end) for end in ends)
    assert not journal.holds(("9999999999999999.seg", 8))
    journal.close()


def kept(folder):
    return list(journals.read(folder / "journal"))


@pytest.mark.parametrize("place", ["journal", "journal/0000000000000001.seg"])
def test_what_would_go_to_a_file_without_a_name_is_refused_and_another_begun(
    journal, tmp_path, place
):
    assert 1 == journal.write([entry(1)]).entries
    if place == "journal":
        shutil.rmtree(tmp_path / place)
    else:
        (tmp_path / place).unlink()
    lost = journal.write([entry(2), entry(3)])
    assert (0, errno.ENOENT) == (lost.entries, lost.failure.errno)
    assert 2 == journal.write([entry(2), entry(3)]).entries
    assert [entry(2), entry(3)] == kept(tmp_path)


@pytest.mark.parametrize("moved", [True, False])
def test_a_folder_that_was_taken_away_is_begun_anew_when_it_is_checked(journal, tmp_path, moved):
    journal.write([entry(1)])
    if moved:
        (tmp_path / "journal").rename(tmp_path / "elsewhere")
    else:
        shutil.rmtree(tmp_path / "journal")
    journal.check(failed=False)
    assert 1 == journal.write([entry(2)]).entries
    assert [entry(2)] == kept(tmp_path)


def test_a_check_leaves_nothing_behind(journal, tmp_path):
    journal.write([entry(1)])
    before = sorted((tmp_path / "journal").iterdir())
    journal.check(failed=True)
    assert before == sorted((tmp_path / "journal").iterdir())
    assert [entry(1)] == kept(tmp_path)


@pytest.mark.parametrize(
    ("left", "files", "warning", "refused"),
    [
        (1 << 30, 100, "", False),
        (room.LEAST_BYTES, 100, "", False),  # of this journal a segment is smaller
        (room.LEAST_BYTES - 1, 100, None, True),
        (1 << 30, 0, "the disk of the journal has no room for another file (df -i)", False),
    ],
)
def test_a_check_says_what_the_disk_is_short_of(
    journal, monkeypatch, left, files, warning, refused
):
    journal.write([entry(1)])
    disk = os.statvfs(".")
    fields = {
        "f_frsize": 1, "f_bavail": left, "f_bfree": left,
        "f_files": 1000, "f_favail": files, "f_ffree": files,
    }  # fmt: skip
    names = [name for name in dir(disk) if name.startswith("f_")]
    shown = SimpleNamespace(**{name: getattr(disk, name) for name in names} | fields)
    monkeypatch.setattr(os, "statvfs", lambda _folder: shown)
    if refused:
        with pytest.raises(OSError, match="No space left on device"):
            journal.check(failed=False)
    else:
        assert warning == journal.check(failed=False)


def test_without_an_open_file_a_disk_without_inodes_takes_nothing(journal, monkeypatch):
    shown = SimpleNamespace(
        f_frsize=1, f_bavail=1 << 30, f_bfree=1 << 30, f_files=9, f_favail=0, f_ffree=0
    )
    monkeypatch.setattr(os, "statvfs", lambda _folder: shown)
    with pytest.raises(OSError, match="inodes"):
        journal.check(failed=False)
