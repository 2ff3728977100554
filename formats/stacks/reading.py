"""Reads dumps of stacks out of lines, whoever wrote them.

Forms: `py-spy dump` (0.2 to 0.4, with and without --native), `pystack remote` (1.7), gdb's `bt` and
`thread apply all bt`, cuda-gdb and pstack, `eu-stack`, and Python's faulthandler when a signal or a
timer asks it (not the one of a crash). A prefix of a launcher before the lines, and quotation marks
as mails and forums write them, are passed over.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import PurePath

from ..training_logs import cleaning, crashes
from .records import ProcessStacks, ThreadStack

_MOST_CALLS, _MOST_THREADS = 200, 2000
_FAR = 3
"""Lines between a heading and its dump, at most."""

_PYSPY = re.compile(r"Process (?P<pid>\d{1,10}): ?(?P<command>.{0,4000})")
_EU = re.compile(r"PID (?P<pid>\d{1,10}) - (?:process|core)")
_ATTACHED = re.compile(r"Attaching to process (?P<pid>\d{1,10})")
_DUMPED = re.compile(r"Timeout \((?:\d{1,4}:)?\d{1,2}:\d\d:\d\d(?:\.\d{1,6})?\)!")
_CRASHED = re.compile(
    rf"{crashes.BEGINS}|\breceived signal SIG(?!INT|STOP|TRAP|USR|TSTP|CONT)|"
    r"Program terminated with signal"
)
"""What stands above the stack of a process that ended, rather than stood still."""

_PYSPY_THREAD = re.compile(
    r"Thread (?:0x[0-9A-Fa-f]{1,16}|\d{1,10}) \((?:idle|active)[^)]{0,20}\)"
    r'(?:: "(?P<name>[^"]{0,200})")?'
)
_PYSTACK_THREAD = re.compile(
    r"Traceback for thread \d{1,10}(?: \((?P<name>[^)]{0,200})\))? \[[^\]]{0,80}\] "
    r"\(most recent call last\):"
)
_GDB_THREAD = re.compile(
    r"Thread (?P<number>\d{1,7}) \(Thread 0x[0-9a-f]{1,16} \(LWP (?P<lwp>\d{1,10})\)"
    r'(?: "(?P<name>[^"]{0,200})")?.{0,40}\):?'
)
_GDB_LISTED = re.compile(
    r"(?:\* )? {0,4}(?P<number>\d{1,7}) +Thread 0x[0-9a-f]{1,16} \(LWP (?P<lwp>\d{1,10})\) "
    r'(?:"(?P<name>[^"]{0,200})" )?(?:0x[0-9a-f]{1,16} in )?(?P<call>[^\s(].{0,400})'
)
"""A row of gdb's `info threads`: a thread and its innermost call."""
_EU_THREAD = re.compile(r"TID (?P<lwp>\d{1,10})(?: .{0,80})?:")
_PYTHON_THREAD = re.compile(
    r"(?:Current thread|Thread) 0x[0-9a-fA-F]{1,16}(?: \[(?P<name>[^\]]{0,80})\])? "
    r"\(most recent call first\):"
)

_PYSPY_CALL = re.compile(r"(?P<name>[^\s()].{0,8000}) \((?P<file>[^()]{1,400})\)")
_PYSTACK_CALL = re.compile(
    r'\((?:Python|C)\) File "(?P<file>[^"]{1,400})", line (?P<line>\d{1,7}), '
    r"in (?P<name>.{1,1000}?)(?: \([^()]{1,400}\))?"
)
_NATIVE_CALL = re.compile(
    r"#(?P<number>\d{1,4}) +(?:0x[0-9a-fA-F]{1,16} )?(?:in )?(?P<name>\S.{0,2000})"
)
_RANK_ABOVE = re.compile(
    r"(?i)\W{0,20}(?:(?:py-?spy|pystack|stack|stacks|dump|trace|of|for|on|the|global|node|worker|"
    r"process|gpu|\$|cat|>)[\s_:=#.-]{1,3}){0,6}rank[\s_:=#.-]{0,3}(?P<rank>\d{1,6})"
    r"(?:\W{0,5}pid\W{0,3}(?P<pid>\d{1,10}))?(?:\.txt|\.log)?\W{0,20}"
)
"""A heading that names a rank and nothing else, or its process as well."""
_RANK_OF = re.compile(r"--(?:global[_-])?(?:local[_-])?rank[= ](?P<rank>\d{1,6})\b")


def processes(lines: Iterable[bytes]) -> list[ProcessStacks]:
    """Return every process of which the lines hold a dump, in their order; of a crash none."""
    reader = _DumpReader()
    for number, line in enumerate(lines, 1):
        reader.read(number, line)
    return list(reader.found())


class _DumpReader:
    """Follows the lines of one file."""

    def __init__(self) -> None:
        self._found: list[ProcessStacks] = []
        self._thread: ThreadStack | None = None
        self._outermost_first = False
        self._crashed = False
        self._above: tuple[int, int] | None = None
        self._pids: dict[int, int] = {}
        self._last_number = 0
        self._closed = True
        self._native = False

    def found(self) -> Iterator[ProcessStacks]:
        """Yield what has a call, with the ranks that lines name for its process."""
        self._end_thread()
        for one in self._found:
            if one.rank is None and one.pid is not None:
                one.rank = self._pids.get(one.pid)
        return (one for one in self._found if any(thread.calls for thread in one.threads))

    def read(self, number: int, line: bytes) -> None:
        """Take the next line."""
        cleaned = cleaning.clean(line.rstrip())
        text = cleaned.text.lstrip("> ")
        if not text:
            return
        if _CRASHED.search(text):
            self._crashed = True
            self._closed = True
        elif begun := (_PYSPY.fullmatch(text) or _EU.match(text) or _ATTACHED.match(text)):
            self._crashed = False
            self._process(number, int(begun["pid"]), begun.groupdict().get("command") or "")
        elif _DUMPED.match(text):
            self._crashed = False
            self._process(number, None, "")
        elif not self._header(number, text) and not self._call(number, text):
            self._other(number, text, inside=line[:1].isspace())
        if cleaned.rank is not None and self._found and not self._closed:
            self._found[-1].rank = cleaned.rank

    def _process(self, number: int, pid: int | None, command: str) -> None:
        self._end_thread()
        self._closed = False
        self._last_number = 0
        rank, at = self._above or (None, 0)
        if named := _RANK_OF.search(command):
            rank = int(named["rank"])
        elif number - at > _FAR:
            rank = None
        self._found.append(ProcessStacks(number, number, pid, command, rank))
        self._above = None

    def _header(self, number: int, text: str) -> bool:
        """Take a line if a thread begins with it; tell whether one does."""
        if found := _PYSPY_THREAD.fullmatch(text) or _PYTHON_THREAD.fullmatch(text):
            self._begin_thread(number, ThreadStack(found["name"] or ""))
        elif found := _PYSTACK_THREAD.fullmatch(text):
            self._begin_thread(number, ThreadStack(found["name"] or ""), outermost_first=True)
        elif found := _GDB_THREAD.match(text):
            if int(found["number"]) >= self._last_number:
                self._process(number, None, "")
            self._begin_gdb_thread(number, found)
            self._last_number = int(found["number"])
        elif found := _GDB_LISTED.match(text):
            self._begin_gdb_thread(number, found).calls.append(_native(found["call"]))
        elif found := _EU_THREAD.fullmatch(text):
            main = bool(self._found) and str(self._found[-1].pid) == found["lwp"]
            self._begin_thread(number, ThreadStack(main=main))
        else:
            return False
        return True

    def _begin_gdb_thread(self, number: int, found: re.Match[str]) -> ThreadStack:
        """Begin a thread as gdb numbers and names it; the first began the process."""
        thread = ThreadStack(found["name"] or "", main=int(found["number"]) == 1)
        self._begin_thread(number, thread)
        if thread.main:
            self._found[-1].pid = int(found["lwp"])
        return thread

    def _begin_thread(
        self, number: int, thread: ThreadStack, *, outermost_first: bool = False
    ) -> None:
        self._end_thread()
        if self._closed:
            self._process(number, None, "")
        self._thread, self._outermost_first = thread, outermost_first
        process = self._found[-1]
        process.end = number
        if len(process.threads) < _MOST_THREADS and not self._crashed:
            process.threads.append(thread)

    def _end_thread(self) -> None:
        """Put the calls of the thread in order; a main thread that others follow ends a process."""
        thread, self._thread = self._thread, None
        if thread is None:
            return
        if self._outermost_first:
            thread.calls.reverse()
        del thread.calls[_MOST_CALLS:]
        begun = bool(thread.calls) and thread.calls[-1].startswith("<module>")
        if begun and self._found and self._found[-1].pid is None:
            self._closed = True

    def _call(self, number: int, text: str) -> bool:
        """Take a line if it is a call of the thread that was begun; tell whether it is."""
        native = _NATIVE_CALL.fullmatch(text)
        if native is not None and int(native["number"]) == 0 and self._alone():
            self._process(number, None, "")
            self._begin_thread(number, ThreadStack(main=True))
        if self._thread is None:
            return False
        self._native = native is not None
        called = crashes.call(text) or _named(text, native)
        if called:
            self._thread.calls.append(called)
            self._found[-1].end = number
        return bool(called)

    def _alone(self) -> bool:
        """Tell whether a first call belongs to no thread that was named: gdb's plain `bt`."""
        return self._thread is None or bool(self._thread.calls)

    def _other(self, number: int, text: str, *, inside: bool) -> None:
        """Take any other line: one that names a rank says whose the next dump is.

        `inside`: it is indented, as what goes on with a call is.
        """
        if self._thread is None or inside or self._native:
            pass
        elif self._thread.calls:
            self._end_thread()
        named = _RANK_ABOVE.fullmatch(text)
        if named is None:
            return
        rank = int(named["rank"])
        if named["pid"]:
            self._pids[int(named["pid"])] = rank
            return
        several = self._above is not None and number - self._above[1] <= _FAR
        self._above = None if several else (rank, number)
        self._closed = True


def _named(text: str, native: re.Match[str] | None) -> str:
    """Return a call as stacks have it, "" where a line is none."""
    if native is not None:
        return _native(native["name"])
    if found := _PYSTACK_CALL.fullmatch(text):
        return f"{found['name']} ({PurePath(found['file']).name}:{found['line']})"
    if (found := _PYSPY_CALL.fullmatch(text)) and not text.endswith(":"):
        file = found["file"]
        if ".so" in file or file.startswith(("lib", "python3")):
            return found["name"]
        return f"{found['name']} ({PurePath(file).name})"
    return ""


def _native(name: str) -> str:
    """Return the name of a native call without its arguments and its version."""
    plain = name.replace("(anonymous namespace)", "{anonymous}").partition(" (")[0]
    return plain.partition("(")[0].strip().partition("@@")[0] or "??"
