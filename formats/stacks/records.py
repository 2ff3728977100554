"""A process as a dump of its stacks shows it."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class ThreadStack:
    """The calls of one thread, the innermost first, as `name (file:line)` or a native name alone.

    `name`: "" where the dump has none. `main`: the dump says that the process began with it.
    """

    name: str = ""
    main: bool = False
    calls: list[str] = field(default_factory=list[str])


@dataclass(slots=True)
class ProcessStacks:
    """The threads of one process, in the order of the dump.

    `line`: of the dump's file, where it begins, `end`: where it ends, both from 1. `pid`: None
    where the dump has none. `command`: how the process was started, "" where it does not say it.
    `rank`: as a prefix, the command or a line above the dump names it.
    """

    line: int
    end: int
    pid: int | None = None
    command: str = ""
    rank: int | None = None
    threads: list[ThreadStack] = field(default_factory=list[ThreadStack])
