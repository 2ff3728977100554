"""What a dead job left may hold names made to mislead: nothing outside of the folder is read."""

import os
from datetime import UTC

import pytest

from rankscope.collector.recordings.otlp_lines import RecordingError

SECRET = "RuntimeError: CUDA error: the secret of somebody else"


@pytest.fixture
def folder(tmp_path):
    """Make a folder with a log, and beside it what is none of its business."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "rank_1.log").write_text(SECRET)
    made = tmp_path / "job"
    made.mkdir()
    (made / "rank_0.log").write_text(
        "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\n"
    )
    return made


@pytest.mark.parametrize("target", ["../outside/rank_1.log", "/etc/passwd", "../nowhere"])
def test_a_link_is_listed_as_not_read_with_its_reason(explain, folder, target):
    (folder / "rank_1.log").symlink_to(target)
    found = explain(folder, zone=UTC).found
    assert "a link: not followed, since it may lead anywhere" == found.unread["rank_1.log"]
    assert {"rank_0.log"} == set(found.read)
    assert not any(SECRET in quote.text for quote in found.quotes)


def test_nor_is_a_folder_entered_through_a_link(explain, folder):
    (folder / "more").symlink_to("../outside")
    found = explain(folder, zone=UTC).found
    assert {"more"} == set(found.unread)
    assert {"rank_0.log"} == set(found.read)


def test_what_would_never_end_is_not_opened(explain, folder):
    os.mkfifo(folder / "rank_1.log")
    found = explain(folder, zone=UTC).found
    assert {"rank_1.log": "neither a file nor a folder"} == found.unread


def test_long_names_and_terminal_codes_in_names_are_names_like_others(explain, folder):
    names = {f"{'x' * 250}.log", "rank_1\x1b[2J.log"}
    for name in names:
        (folder / name).write_text("nothing of interest\n")
    assert names == set(explain(folder, zone=UTC).found.unread)


@pytest.mark.parametrize("name", ["a\0b", "x" * 5000, "../nowhere", "/nowhere/at/all"])
def test_a_path_that_is_none_is_refused_with_its_name(explain, folder, name):
    with pytest.raises(RecordingError) as refused:
        explain(folder / name)
    assert name[:20].replace("\0", "\\x00") in str(refused.value).replace("\0", "\\x00")
    assert len(str(refused.value)) < 1000
