"""What people attach to a ticket: archives, compressed logs, single files, standard input."""

import bz2
import gzip
import io
import lzma
import os
import sys
import tarfile
import zipfile

import cramjam
import pytest

from rankscope.collector.artefacts.files import inputs, unpacking
from rankscope.collector.artefacts.found import ArtefactContents

LOG = b"[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
STEPS = b"".join(b"line %d\n" % number for number in range(2000))


@pytest.fixture
def opened():
    """Return a function that opens paths and returns contents by name, and what was noted."""

    def read(*paths):
        found = ArtefactContents()
        with inputs.opened(paths, found) as files:
            held = {name: file.read_bytes() for name, file in files.items()}
        assert not any(file.exists() for file in files.values() if file.parent not in paths
                       and not any(file.is_relative_to(path) for path in paths))  # fmt: skip
        return held, found

    return read


def tarred(path, members, mode="w"):
    with tarfile.open(path, mode) as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size, member.mtime = len(content), 1_700_000_000
            archive.addfile(member, io.BytesIO(content))
    return path


def zipped(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


@pytest.mark.parametrize(
    ("suffix", "pack"),
    [
        (".gz", gzip.compress),
        (".bz2", bz2.compress),
        (".xz", lzma.compress),
        (".zst", lambda data: bytes(cramjam.zstd.compress(data))),
        ("", lambda data: data.decode().encode("utf-16")),
    ],
)
def test_a_single_file_that_was_compressed_is_read(opened, tmp_path, suffix, pack):
    path = tmp_path / f"rank_3.log{suffix}"
    path.write_bytes(pack(LOG))
    assert {"rank_3.log": LOG} == opened(path)[0]


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_an_archive_is_read_with_compressed_logs_in_it(opened, tmp_path, mode):
    members = {"left/rank_0.log": STEPS, "left/rank_3.log.gz": gzip.compress(LOG)}
    path = tarred(tmp_path / "ticket.tar.x", members, mode)
    held, found = opened(path)
    assert [STEPS, LOG] == list(held.values())
    assert all(name.endswith(f"rank_{rank}.log") for name, rank in zip(held, (0, 3), strict=True))
    assert not found.unread


def test_a_zip_is_read(opened, tmp_path):
    held, _ = opened(zipped(tmp_path / "left.zip", {"a/b/rank_1.log": LOG}))
    assert {"left.zip/a/b/rank_1.log": LOG} == held


def test_the_members_keep_the_times_that_tell_when_the_job_was_over(tmp_path):
    path = tarred(tmp_path / "left.tar", {"rank_1.log": LOG})
    with inputs.opened([path], ArtefactContents()) as files:
        assert [1_700_000_000] == [file.stat().st_mtime for file in files.values()]


@pytest.mark.parametrize("pack", [tarred, zipped])
def test_a_member_that_leads_out_is_left_out_and_nothing_is_written_beside(opened, tmp_path, pack):
    folder = tmp_path / "deep" / "er"
    folder.mkdir(parents=True)
    names = {"../../evil.log": LOG, "a/../../../evil.log": LOG, "/etc/evil.log": STEPS}
    held, found = opened(pack(folder / "left", names))
    assert {"left/etc/evil.log": STEPS} == held
    assert ["its name leads out of the archive"] * 2 == list(found.unread.values())
    assert [folder / "left"] == [file for file in tmp_path.rglob("*") if file.is_file()]


def test_links_and_devices_of_an_archive_are_not_followed(opened, tmp_path):
    (tmp_path / "secret").write_bytes(LOG)
    with tarfile.open(tmp_path / "left.tar", "w") as archive:
        for name, kind in (("a", tarfile.SYMTYPE), ("b", tarfile.LNKTYPE), ("c", tarfile.CHRTYPE)):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, str(tmp_path / "secret")
            archive.addfile(member)
    held, found = opened(tmp_path / "left.tar")
    assert {} == held
    assert ["a link or a device: not followed"] * 3 == list(found.unread.values())


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, bz2.compress])
def test_what_comes_before_a_tear_is_read_and_said_to_be_all(opened, tmp_path, pack):
    noise = b"".join(b"%x\n" % (number**7) for number in range(90_000))
    path = tmp_path / "rank_0.log"
    whole = pack(noise)
    path.write_bytes(whole[: 3 * len(whole) // 4])
    held, found = opened(path)
    assert noise.startswith(held["rank_0.log"])
    assert len(held["rank_0.log"]) > len(noise) // 3
    assert "the rest of rank_0.log: it is cut off after" in found.missing[0]


def test_a_torn_archive_gives_the_members_before_the_tear(opened, tmp_path):
    path = tarred(tmp_path / "left.tar", {"a.log": STEPS, "b.log": STEPS})
    path.write_bytes(path.read_bytes()[:22_000])
    held, found = opened(path)
    assert STEPS == held["left.tar/a.log"]
    assert STEPS.startswith(held["left.tar/b.log"])
    assert [*found.missing, *found.unread.values()]


def test_what_unpacks_to_far_more_than_any_log_is_cut(opened, tmp_path, monkeypatch):
    monkeypatch.setattr(unpacking, "_ANY_TIMES", 1 << 20)
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(bytes(1 << 23), 9))
    monkeypatch.setattr(unpacking, "_TIMES", 10)
    held, found = opened(tmp_path / "bomb.gz")
    assert len(held["bomb"]) <= 3 << 20
    assert "more than 10 times its size" in found.missing[0]


def test_all_archives_together_stay_within_the_budget(opened, tmp_path, monkeypatch):
    monkeypatch.setattr(inputs, "_MOST_BYTES", 5000)
    monkeypatch.setattr(inputs, "MOST_FILES", 3)
    members = {f"{number}.log": b"x" * 3000 for number in range(5)}
    held, found = opened(tarred(tmp_path / "left.tar", members))
    assert 5000 == sum(len(content) for content in held.values())
    assert ["too many files"] * 2 == [found.unread[f"left.tar/{number}.log"] for number in (3, 4)]


def test_an_archive_in_an_archive_in_an_archive_ends_somewhere(opened, tmp_path):
    content = LOG
    for _ in range(8):
        content = gzip.compress(content)
    (tmp_path / "left.gz").write_bytes(content)
    held, found = opened(tmp_path / "left.gz")
    assert ({}, ["packed more than 4 times over"]) == (held, list(found.unread.values()))


def test_several_paths_are_told_apart(opened, tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "rank_0.log").write_bytes(name.encode())
    (tmp_path / "rank_0.log").write_bytes(b"c")
    held, _ = opened(tmp_path / "a", tmp_path / "b", tmp_path / "rank_0.log")
    assert {"a/rank_0.log": b"a", "b/rank_0.log": b"b", "rank_0.log": b"c"} == held


def test_standard_input_is_one_more_file(opened, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(LOG))))
    assert {"standard input": LOG} == opened(inputs.STANDARD_INPUT)[0]


def test_a_log_with_holes_of_a_power_loss_is_a_log(explain, tmp_path):
    (tmp_path / "job.log").write_bytes(b"begin\n" + bytes(3000) + b"\n" + LOG)
    cause = explain(tmp_path).document()["root_cause"]["hypotheses"][0]
    assert ("memory.gpu_oom", "3") == (cause["fault"], cause["entity"]["id"])


def test_the_date_of_a_compressed_log_is_that_of_its_file(tmp_path):
    path = tmp_path / "a.log.gz"
    path.write_bytes(gzip.compress(LOG))
    os.utime(path, (1_600_000_000, 1_600_000_000))
    with inputs.opened([path], ArtefactContents()) as files:
        assert 1_600_000_000 == files["a.log"].stat().st_mtime
