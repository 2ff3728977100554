"""Exceptions that Python prints as it ends a process: the last line of a traceback.

A traceback of an exception that the program survived looks the same: what follows it in the log
tells them apart, and that is for the reader of the whole log.
"""

import re
from dataclasses import dataclass

from ...vocabulary.samples import Event, Scalar
from . import cleaning

BEGINS = "Traceback (most recent"
SIGNATURE = "python.exception"
"""Name of the signature of the last line of a traceback that no other one explains."""
MEANING = "This process ended with an exception of its own, where nothing of it follows"

_FRAME = re.compile(r'File "[^"]{1,1000}", line (?:\d{1,9}|\?\?\?)')
_FINALISER = ", in __del__"
_NAMED = r"(?:[A-Za-z_]\w{0,80}\.){0,12}[A-Za-z_]\w{0,80}"
_RAISED = re.compile(rf"(?P<kind>{_NAMED})(?:: .*|:)?")
_BARE = re.compile(r"(?:Error|Exception|Interrupt|Exit|Iteration|Timeout|Warning|Empty|Full)$")
"""How names of exceptions end: one without a message is told by that from a line of a program."""

_PEERS = re.compile(
    r"(?:^|\.)(?:Dist(?:Backend|Network|Store|Queue)\w*Error|ChildFailedError|"
    r"ProcessExitedException|ProcessRaisedException|Ray\w*Error|\w*ActorDiedError|ActorDiedError|"
    r"WorkerCrashedError|WorkerGroupError|CalledProcessError|XlaRuntimeError|JaxRuntimeError)$|"
    r"^(?:Connection(?:Reset|Aborted)Error|BrokenPipeError|EOFError)$"
)
"""Kinds that say that another process or a connection to it is gone, or what a launcher saw."""

_PEERS_SAY = re.compile(
    r"[NHXM]CCL|[Hh]ccl[A-Z]|gloo/|TCPStore|(?<![Dd]efault )process group|"
    r"Socket Timeout|store->get|monitoredBarrier|[Ww]atchdog|Horovod has been shut down"
)
"""What the message of an exception holds that follows from another rank."""

_ASKED = re.compile(
    r"(?:^|\.)(?:KeyboardInterrupt|SystemExit|GeneratorExit|CancelledError|SignalException)$"
)
"""Kinds by which a program ends because somebody asked it to."""

_OWN = re.compile(r"(?:^|\.)(?:Value|Type|Attribute|Name|Key|Index|NotImplemented|Import)Error$")
"""Kinds of what a program did wrong itself, whatever the message speaks of."""

_TORN_FILE = re.compile(
    r"EOFError: (?:Ran out of input|Compressed file ended|marshal data too short)"
)
"""What Python says of a file that ends too early, by the name that it has for a closed pipe too."""

_LONGEST = 2000
"""Lines of a traceback, and of what other ranks write between them."""

_HEAD = re.compile(r"[^\s\w]?[\w.:/-]{1,64} ?[^\w\s]? ?")
"""What no table of prefixes has and stands before a traceback: one word, as launchers put before
the lines of each process.
"""


LineWriter = tuple[int | None, int | None]
"""The rank and the local rank that the prefix of a line names."""

TracebackPrefix = tuple[LineWriter, str]
"""Those, and what stands before each line of a traceback besides."""


@dataclass(frozen=True, slots=True)
class RaisedException:
    """What the last line of a traceback names: the exception's kind, and the kind with its message.

    A message that begins with an end of line stands below its kind: its first line is the text's.
    """

    kind: str
    text: str


class ExceptionTraceback:
    """Follows the tracebacks of one log, line by line, each with the prefix of its first line.

    That is what the table of prefixes names of a line (`whose`), and what stands before the
    beginning besides, where each line of the traceback has it.
    """

    def __init__(self) -> None:
        self._left: dict[TracebackPrefix, int] = {}
        self._source: set[TracebackPrefix] = set()
        """Of which tracebacks a line of a program may come next."""
        self._calls: dict[TracebackPrefix, str] = {}
        self._ignored: set[TracebackPrefix] = set()
        """Of which tracebacks the exception ends nothing: Python drops what a finaliser raises."""
        self._named: dict[TracebackPrefix, RaisedException] = {}
        """Of which tracebacks the kind was read, and the message is to come."""
        self._newest: TracebackPrefix | None = None
        """Of which traceback the line read last is."""

    @property
    def open(self) -> bool:
        """Return whether lines that follow may belong to a traceback."""
        return bool(self._left)

    @property
    def innermost(self) -> str:
        """Return the place and the source of the innermost call above the last line; "": none."""
        return "" if self._newest is None else self._calls.get(self._newest, "")

    def begin(self, whose: LineWriter, text: str = "") -> None:
        """Note that a traceback begins with a line; `whose`: the prefix of its lines."""
        before = text.partition(BEGINS)[0]
        key = self._newest = whose, before if _HEAD.fullmatch(before) else ""
        self._left[key] = _LONGEST
        self._source.discard(key)
        self._ignored.discard(key)
        self._calls.pop(key, None)
        self._named.pop(key, None)

    def behind_head(self, whose: LineWriter, text: str) -> str:
        """Return a line without what stood before the beginning of its traceback as well."""
        return text.removeprefix(self._key(whose, text)[1]).strip()

    def read(self, whose: LineWriter, text: str) -> RaisedException | None:
        """Take a line behind a beginning; return the exception where it is the last one."""
        key = self._newest = self._key(whose, text)
        text = text.removeprefix(key[1]).strip()
        left = self._left.get(key)
        if left is None and _FRAME.match(text):
            key, left = self._without_head(whose)
            self._newest = key
        if left is None:
            return None
        if named := self._named.get(key):
            if not text:
                return None
            self._close(key)
            return RaisedException(named.kind, f"{named.text} {text}")
        if left <= 1:
            self._close(key)
            return None
        self._left[key] = left - 1
        if _FRAME.match(text):
            if key not in self._calls and text.endswith(_FINALISER):
                self._ignored.add(key)
            self._source.add(key)
            self._calls[key] = text
            return None
        if key in self._source:
            self._source.discard(key)  # the line of the program, shown below its place
            self._calls[key] = f"{self._calls.get(key, '')} {text}"
            if not _shown_without_source(text):
                return None
        kind = raised(text)
        if not kind:
            return None
        found = None if key in self._ignored else RaisedException(kind, text)
        if found is not None and text.endswith(":"):
            self._named[key] = found
            return None
        self._close(key)
        return found

    def end(self) -> list[tuple[LineWriter, RaisedException]]:
        """Return the exceptions whose message never came, with the prefixes of their lines."""
        found = list(self._named.items())
        for key, _ in found:
            self._close(key)
        return [(whose, exception) for (whose, _), exception in found]

    def told(self) -> None:
        """Note that the last line says what its traceback ends with: no message is awaited."""
        if self._newest in self._named:
            self._close(self._newest)

    def _key(self, whose: LineWriter, text: str) -> TracebackPrefix:
        """Return which traceback a line would be of."""
        heads = (head for of, head in self._left if of == whose and text.startswith(head))
        return whose, max(heads, key=len, default="")

    def _without_head(self, whose: LineWriter) -> tuple[TracebackPrefix, int | None]:
        """Return the traceback whose first line alone had something before it, as a time is."""
        for key in self._left:
            if key[0] == whose and key not in self._calls:
                self._left[whose, ""] = self._left.pop(key)
                break
        return (whose, ""), self._left.get((whose, ""))

    def _close(self, key: TracebackPrefix) -> None:
        self._left.pop(key, None)
        self._named.pop(key, None)
        self._source.discard(key)


def raised(text: str) -> str:
    """Return the kind of exception that the last line of a traceback names, "" for another line."""
    found = _RAISED.fullmatch(text)
    if found is None:
        return ""
    kind = found["kind"]
    last = kind.rpartition(".")[2]
    named = _BARE.search(last) is not None
    return kind if named or (":" in text and last.lstrip("_")[:1].isupper()) else ""


def role(kind: str, text: str) -> str:
    """Return what an exception stands for: root, cascade of a peer's end, or "" for an order."""
    if _ASKED.search(kind):
        return ""
    said = _PEERS_SAY.search(text) is not None and not _OWN.search(kind)
    peers = _PEERS.search(kind) is not None and not _TORN_FILE.search(text)
    return "cascade" if peers or said else "root"


def event(exception: RaisedException, at: float, rank: int | None) -> Event | None:
    """Return the exception by which a process ended, None where somebody asked it to end."""
    if not (said := role(exception.kind, exception.text)):
        return None
    pairs: dict[str, Scalar] = {
        "signature": SIGNATURE, "role": said, "ended": "process",
        "text": cleaning.shown(exception.text),
    }  # fmt: skip
    return Event("log.fault", at, pairs if rank is None else {**pairs, "rank": rank})


def _shown_without_source(text: str) -> bool:
    """Tell whether an exception follows its place at once: the program's text is not there."""
    found = _RAISED.fullmatch(text)
    return found is not None and _BARE.search(found["kind"].rpartition(".")[2]) is not None
