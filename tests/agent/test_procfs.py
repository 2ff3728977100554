"""What /proc shows, however the kernel gives it."""

import os

from rankscope.agent import procfs


def test_a_file_that_the_kernel_gives_in_pieces_is_read_to_its_end(tmp_path, monkeypatch):
    """As /proc/net/dev and /proc/self/mountinfo are: a page at most, whatever was asked for."""
    text = "".join(f"veth{number}: 0 0 0\n" for number in range(1000))
    path = tmp_path / "dev"
    path.write_text(text)
    whole = os.read
    monkeypatch.setattr(os, "read", lambda fd, size: whole(fd, min(size, 4096)))
    assert procfs.read(str(path)) == text
