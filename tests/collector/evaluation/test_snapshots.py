"""Snapshot files: what was written is read back, and nothing else is made of them."""

import os
import threading
from dataclasses import replace

import numpy as np
import psutil
import pytest
from tests.waiting import until

from rankscope.collector.evaluation import snapshots as module
from rankscope.collector.evaluation.schedule import ScheduleTime
from rankscope.collector.evaluation.snapshots import PipelineSnapshot, SnapshotError, SnapshotFile


@pytest.fixture
def snapshots(tmp_path):
    return SnapshotFile(tmp_path / "snapshot")


@pytest.fixture
def snapshot():
    state = {"values": np.arange(6.0).reshape(2, 3), "names": ["a", "b"], "ranks": {1, 2}}
    return PipelineSnapshot(
        state, ("0000000000000001.seg", 400), ScheduleTime(1_700_000_000, 1_700_000_900, True)
    )


@pytest.mark.parametrize("how", ["write", "fork"])
def test_a_snapshot_comes_back_and_its_arrays_can_be_written(snapshots, snapshot, how):
    getattr(snapshots, how)(snapshot)
    snapshots.wait()
    found = snapshots.load()
    assert (found.offset, found.moment) == (snapshot.offset, snapshot.moment)
    assert found.pipeline["names"] == ["a", "b"]
    found.pipeline["values"] += 1
    assert found.pipeline["values"].tolist() == [[1, 2, 3], [4, 5, 6]]
    assert snapshots.evaluated() == 1_700_000_000


def test_what_changes_after_the_fork_is_not_in_the_snapshot(snapshots, snapshot):
    snapshots.fork(snapshot)
    snapshot.pipeline["values"][:] = -1
    snapshots.wait()
    assert snapshots.load().pipeline["values"].tolist() == [[0, 1, 2], [3, 4, 5]]


def test_a_writer_that_hangs_holds_up_no_end_and_its_half_file_is_gone(
    snapshots, snapshot, tmp_path, monkeypatch
):
    def half(path, _parts):
        path.with_name(f"{path.name}.{os.getpid()}-0").write_bytes(b"half of it")
        threading.Event().wait()

    monkeypatch.setattr("rankscope.formats.segments.rewrite", half)
    snapshots.fork(snapshot)
    until(lambda: list(tmp_path.iterdir()), "a half file")
    snapshots.wait(0.0)
    assert not snapshots.writing
    assert [] == list(tmp_path.iterdir())


def test_without_a_file_there_is_none(snapshots):
    assert snapshots.evaluated() is None
    with pytest.raises(SnapshotError, match="none yet"):
        snapshots.load()


def test_a_snapshot_of_other_code_is_not_used(snapshots, snapshot, monkeypatch):
    snapshots.write(snapshot)
    monkeypatch.setattr(module, "fingerprint", lambda: "another")
    with pytest.raises(SnapshotError, match="another version"):
        snapshots.load()
    assert snapshots.evaluated() is None


@pytest.mark.parametrize("place", [0, 20, -20])
def test_a_damaged_snapshot_is_not_used(snapshots, snapshot, tmp_path, place):
    snapshots.write(snapshot)
    file = tmp_path / "snapshot"
    data = bytearray(file.read_bytes())
    data[place] ^= 0xFF
    file.write_bytes(data)
    with pytest.raises(SnapshotError):
        snapshots.load()


def test_a_snapshot_that_is_cut_off_is_not_used(snapshots, snapshot, tmp_path):
    snapshots.write(snapshot)
    file = tmp_path / "snapshot"
    file.write_bytes(file.read_bytes()[:-8])
    with pytest.raises(SnapshotError, match="cut off"):
        snapshots.load()


class Foreign:
    """Something whose pickle names a function to call."""

    def __reduce__(self):
        return print, ("called",)


def test_nothing_foreign_is_made_or_called(snapshots, capsys):
    snapshots.write(PipelineSnapshot(Foreign(), None, ScheduleTime()))
    with pytest.raises(SnapshotError, match="no place in a snapshot"):
        snapshots.load()
    assert capsys.readouterr().out == ""


def test_room_of_arrays_that_was_never_written_to_takes_no_memory_after_a_restart(
    snapshots, snapshot
):
    rows = np.zeros((64, 1 << 17))
    rows[3, 5] = 7.0
    snapshots.write(replace(snapshot, pipeline=rows))
    del rows
    before = psutil.Process().memory_info().rss
    found = snapshots.load().pipeline
    assert psutil.Process().memory_info().rss - before < 16 << 20
    assert (found[3, 5], found.sum()) == (7.0, 7.0)
