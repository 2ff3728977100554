"""Folders that stand for /sys, /proc and /dev: files with values that change under their readers.

A value is changed in place, since the kernel answers a reader that keeps its file open, too. What a
regular file cannot play: reads that fail with EINVAL (the carrier of an interface that is set
down), values made anew at each read, and poll.
"""

import os
import shutil
import tomllib
from functools import cache
from pathlib import Path


@cache
def _tables() -> dict[str, list[str]]:
    text = (Path(__file__).parent / "kernel_names.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def table(name: str) -> list[str]:
    """Return the names that kernel_names.toml lists under this one."""
    return _tables()[name]


class KernelFiles:
    """The roots that a reader is given instead of the node's own: `sys`, `proc` and `dev`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.sys, self.proc, self.dev = root / "sys", root / "proc", root / "dev"
        for folder in (self.sys, self.proc, self.dev):
            folder.mkdir(parents=True, exist_ok=True)

    def write(self, path: Path, value: object) -> None:
        """Let a file say this, a line as the kernel ends it; a reader sees the old or the new."""
        text = f"{value}\n".encode()
        path.parent.mkdir(parents=True, exist_ok=True)
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            # One write as long as what was there, then cut: at no time do two values run together.
            os.pwrite(fd, text.ljust(os.fstat(fd).st_size, b"\n"), 0)
            os.ftruncate(fd, len(text))
        finally:
            os.close(fd)

    def read(self, path: Path) -> str:
        return path.read_text(encoding="utf-8").strip()

    def add(self, path: Path, by: int) -> int:
        """Let a counter grow; returns what it says then."""
        value = int(self.read(path)) + by
        self.write(path, value)
        return value

    def link(self, path: Path, target: Path) -> None:
        """Make a link, relative as the kernel's are."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(os.path.relpath(target, path.parent))

    def remove(self, path: Path) -> None:
        """Take a file, a link or a whole folder away."""
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
