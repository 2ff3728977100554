"""Stacks of tasks that do not come back from the kernel: where one waits says for what."""

import re
from dataclasses import dataclass
from functools import cache, cached_property

from ...vocabulary import tables
from .reports import TEXT, LogFault

NEEDLE = "state:D"
"""What the line above a stack has that was asked for (sysrq-w)."""

_TOGETHER_SECONDS = 5.0
_FRAMES = 64

_HEADS = (
    re.compile(
        r"INFO: task (?P<name>.{1,64}):(?P<pid>\d{1,9}) blocked for more than "
        r"(?:1[2-9]\d|[2-9]\d\d|\d{4,}) seconds"
    ),
    re.compile(r"^task:(?P<name>.{1,32}?)\s+state:D\b.*?\bpid:\s*(?P<pid>\d{1,9})"),
)
_FRAME = re.compile(
    r"^\s*(?:\[<[0-9a-f]+>\] )?(?P<function>[A-Za-z_][\w.]*)\+0x[0-9a-f]+/0x[0-9a-f]+"
    r"(?: \[(?P<module>\w+)[^\]]*\])?"
)
"""A frame that the kernel is not sure of has a question mark before it, and does not match."""


@dataclass(frozen=True)
class WaitingPart:
    """A row of stack_modules.toml."""

    signature: str
    modules: tuple[str, ...]
    functions: tuple[str, ...]
    needles: tuple[str, ...]
    meaning: str

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        functions = "|".join(self.functions) or "(?!)"
        return re.compile(rf"(?:{functions})\S* \Z|\S+ (?:{'|'.join(self.modules)})\Z")

    def holds(self, function: str, module: str) -> bool:
        """Tell whether a frame is of this part; `module` is "" where it is built in."""
        return self._pattern.match(f"{function} {module}") is not None


@cache
def catalogue() -> tuple[WaitingPart, ...]:
    package = __package__ or ""
    return tuple(
        tables.packaged(WaitingPart, package, "stack_modules.toml", "part", beside="version source")
    )


@cache
def needles() -> tuple[str, ...]:
    """Return the texts of which a frame that tells has at least one."""
    return (NEEDLE, *(one for part in catalogue() for one in part.needles))


class HungStacks:
    """Follows the stack below a task; not for several threads at once."""

    def __init__(self) -> None:
        self._task: tuple[str, int, float] | None = None
        self._frames = 0

    def read(self, text: str, at: float) -> LogFault | None:
        """Return what a task waits for, at the frame that says it; None at any other line."""
        if "task" in text:
            for pattern in _HEADS:
                if head := pattern.search(text):
                    self._task = (head["name"].strip(), int(head["pid"]), at)
                    self._frames = 0
                    return None
        if self._task is None or "+0x" not in text:
            return None
        name, pid, since = self._task
        self._frames += 1
        if self._frames > _FRAMES or abs(at - since) > _TOGETHER_SECONDS:
            self._task = None
            return None
        frame = _FRAME.match(text)
        if frame is None:
            return None
        for part in catalogue():
            if part.holds(frame["function"], frame["module"] or ""):
                self._task = None
                said = f"task {name}:{pid} waits in {text.strip()}"
                return LogFault(part.signature, "root", said[:TEXT], pid=pid)
        return None
