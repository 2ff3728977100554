"""torchrun as /proc shows it: which process started a rank, and whether it can start it again."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .. import procfs

_PROGRAMS = ("torchrun", "torch.distributed.run", "torch.distributed.launch")
_NODES = re.compile(r"(\d+):(\d+)")


@dataclass(frozen=True, slots=True)
class TorchLauncher:
    """A torchrun: its pid, how often it starts its ranks anew, and how many nodes it may have."""

    pid: int
    max_restarts: int
    nodes: str

    def unable(self, *, leaves: bool) -> str:
        """Return why it cannot go on after its ranks are ended, "" where it can."""
        found = _NODES.fullmatch(self.nodes)
        if leaves:
            if found is not None and int(found[1]) < int(found[2]):
                return ""
            return (
                f"torchrun was started with --nnodes={self.nodes or '1'}: only with MIN:MAX do the "
                "others go on without this host"
            )
        if self.max_restarts < 1:
            return "torchrun would end the job: it was started without --max-restarts"
        return ""


def of(pid: int, *, proc: Path = procfs.PROC) -> TorchLauncher | None:
    """Return the torchrun that is the parent of a process, None where its parent is none."""
    stat = procfs.stat(pid, proc)
    if stat is None:
        return None
    parent = int(stat[4])
    words = (procfs.read(f"{proc}/{parent}/cmdline") or "").split("\0")
    if not any(_is_program(word) for word in words[:6]):
        return None
    environ = procfs.environ(parent, proc)
    return TorchLauncher(
        parent,
        _number(_option(words, environ, "max-restarts", "PET_MAX_RESTARTS")),
        _option(words, environ, "nnodes", "PET_NNODES"),
    )


def _is_program(word: str) -> bool:
    return word in _PROGRAMS or word.rpartition("/")[2] == _PROGRAMS[0]


def _option(words: Sequence[str], environ: Mapping[str, str], name: str, variable: str) -> str:
    """Return the value of an option, whichever way it is written; "" where it is not given."""
    spellings = (f"--{name}", f"--{name.replace('-', '_')}")
    for number, word in enumerate(words):
        option, equals, value = word.partition("=")
        if option in spellings:
            return value if equals else next(iter(words[number + 1 :]), "")
    return environ.get(variable, "")


def _number(text: str) -> int:
    return int(text) if text.isdecimal() else 0
