"""What /proc shows, however the kernel gives it."""

import os

import pytest

from rankscope.agent import procfs


def test_a_file_that_the_kernel_gives_in_pieces_is_read_to_its_end(tmp_path, monkeypatch):
    """As /proc/net/dev and /proc/self/mountinfo are: a page at most, whatever was asked for."""
    text = "".join(f"veth{number}: 0 0 0\n" for number in range(1000))
    path = tmp_path / "dev"
    path.write_text(text)
    whole = os.read
    monkeypatch.setattr(os, "read", lambda fd, size: whole(fd, min(size, 4096)))
    assert procfs.read(str(path)) == text


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("MemTotal:", 100),
        ("MemFree:", 20),
        ("pswpin", 3),
        ("pswp", None),
        ("Free:", None),
        ("Empty:", None),
        ("Odd:", None),
        ("absent", None),
    ],
)
def test_a_number_is_found_by_the_whole_name_at_the_beginning_of_its_line(name, expected):
    text = "MemTotal:  100 kB\npswpin_more 9\nMemFree: 20 kB\nOdd: x 7\npswpin 3\nEmpty:\n"
    assert procfs.number(text, name) == expected
