"""Which libraries trainers have loaded, by the names of the files they map.

Reading a process's map takes its memory lock for milliseconds, so each process is looked at once;
it is looked at again only while the libraries sought are not there yet, three times at most.
"""

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ... import procfs
from ...trainers import TrainerProcess

_LIBRARIES = {
    "libnccl": "nvidia_nccl_",
    "librccl": "",
    "libcuda": "",
    "libcudnn": "nvidia_cudnn_",
    "libcublas": "nvidia_cublas_",
    "libhccl": "",
    "libnccl-net": "",
}
"""Libraries, and how the packages begin that bring them without a version in the file's name."""
_FILE = re.compile(r"(/\S*/)?(lib[a-z]+(?:-net)?)\.so\.?([\d.]*)$")
_LOOKS = 3
_MOST_BYTES = 16 << 20


@dataclass(slots=True)
class _SeenLibraries:
    """What was found in one process."""

    looks: int = 0
    found: dict[str, str] = field(default_factory=dict)


class LibraryVersions:
    """Remembers what it found for as long as a trainer lives."""

    def __init__(
        self, *, trainers: Callable[[], Sequence[TrainerProcess]], proc: Path = procfs.PROC
    ) -> None:
        self._trainers = trainers
        self._proc = proc
        self._seen: dict[int, _SeenLibraries] = {}

    def find(self) -> set[tuple[str, str]]:
        """Return (library, version) of all trainers; those that may not be read have none."""
        pids = {trainer.pid for trainer in self._trainers() if trainer.pid is not None}
        self._seen = {pid: seen for pid, seen in self._seen.items() if pid in pids}
        for pid in sorted(pids):
            seen = self._seen.setdefault(pid, _SeenLibraries())
            if seen.looks < _LOOKS and not {"libnccl", "librccl", "libhccl"} & set(seen.found):
                seen.looks += 1
                seen.found = self._look(pid)
        return {pair for seen in self._seen.values() for pair in seen.found.items()}

    def _look(self, pid: int) -> dict[str, str]:
        found: dict[str, str] = {}
        for path in mapped(f"{self._proc}/{pid}/maps"):
            match = _FILE.match(path)
            if match and match[2] in _LIBRARIES and match[2] not in found:
                folder, name, version = match[1] or "", match[2], match[3]
                if version.count(".") == 0:
                    version = self._packaged(pid, folder, _LIBRARIES[name]) or version
                found[name] = version or "unknown"
        return found

    def _packaged(self, pid: int, folder: str, begins: str) -> str:
        """Return the version of the Python package that a library lies in, "" when it is in none.

        Such a file is .../site-packages/nvidia/nccl/lib/libnccl.so.2.
        """
        site, found, _ = folder.partition("/nvidia/")
        if not begins or not found:
            return ""
        for name in procfs.names(f"{self._proc}/{pid}/root{site}"):
            if name.startswith(begins) and name.endswith(".dist-info"):
                return name.removesuffix(".dist-info").rpartition("-")[2]
        return ""


def mapped(path: str) -> list[str]:
    """Return the names of the files that a process maps, each once, in their order."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return []
    names: dict[str, None] = {}
    rest, size = b"", 0
    try:
        while size < _MOST_BYTES and (data := os.read(fd, 1 << 16)):
            size += len(data)
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                if b".so" in line:
                    names[line.split(maxsplit=5)[-1].decode(errors="replace")] = None
    except OSError:
        pass  # it ended meanwhile: what was read so far counts
    finally:
        os.close(fd)
    return list(names)
