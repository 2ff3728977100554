"""Errors at the end of a log in words that no table has: quoted where nothing else says anything.

They say that something ended badly, and not what: no cause follows from them. Where the very last
of them is an exception of Python, whose traceback was cut off, its process ended by it. Where no
log has a step, a line at the end that sets something up, or waits for it, is quoted too: what it
was about may never have come; and so are one that says in plain words that something was refused,
what some ranks say at its end and others do not, and a training that a list of processes shows
idle.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ....formats.training_logs import behind_bars, cleaning, tracebacks
from ....vocabulary.log_lines import LAST_WORDS
from ....vocabulary.samples import Event, TelemetryResource
from ..found import ArtefactContents, LogQuote
from . import follow_ups, half_said, process_lists, survival
from .tails import LogTail

_MOST_QUOTED = 5
_LONGEST = 1000

_BY_MODULE = r"(?:(?<=\.exc\.)|(?<=errors\.)|(?<=exceptions\.))[A-Z]\w{2,60}"
"""An exception whose name does not say that it is one, behind a module whose name does."""

_ERROR = re.compile(
    rb"(?:^|[\s\[(|<])(?:ERROR|FATAL|CRITICAL|SEVERE|PANIC)(?:[\s\])|:>,]|$)"
    rb"|\b(?:level|severity|levelname|lvl)\"?\s{0,4}[=:]\s{0,4}\"?(?i:error|fatal|critical|panic)\b"
    rb"|(?:^|[\s\[])[EF](?:\d{4} \d\d:\d\d:\d\d|\])"
    rb"|^(?:\S{1,80}:? )?(?i:fatal(?: error)?|error|panic|exception)[:!]"
    rb"|Connection (?:was )?reset by peer|Broken pipe|maybe TCPStore server has shut down"
    rb"|(?<![\w./'\"])[A-Z]\w{1,60}(?:Error|Exception)(?:: |\(|$)"
    rb"|^(?:\[rank\d{1,7}\]: ?)?(?:[A-Za-z_]\w{0,80}\.){1,12}(?:[A-Z]\w{1,60}(?:Error|Exception)|"
    + _BY_MODULE.encode()
    + rb"): "
    + "|(?:错误|エラー|오류)(?::|\N{FULLWIDTH COLON})".encode()
)
"""How logs mark an error: a level, glog's letter, an exception's name, a word and a colon."""

_RAISED = re.compile(
    r"(?P<kind>(?:[A-Za-z_]\w{0,80}\.){0,12}"
    rf"(?:[A-Z]\w{{0,60}}(?:Error|Exception)|{_BY_MODULE})): \S.*"
)
"""An exception with its message, as the last line of a traceback has it."""

_HARMLESS = re.compile(
    rb"(?i)\bwarn(?:ing)?\b|^W\d{4} |\b(?:0|no|without) errors?\b|\bdeprecat"
    rb"|Unable to register cu\w{2,8} factory|computation placer already registered"
)
"""What such a line says where it is none, or one that TensorFlow prints at each start."""

_SETS_UP = re.compile(
    rb"(?:NCCL|RCCL) INFO (?!.*Init COMPLETE)|\bdistributed_backend=|\bReduce to /job:"
    rb"|(?i:\bwaiting (?:for|until|on|in) |\brendezvous|\bAll distributed processes registered)"
    rb"|(?i:\b(?:listen|connect|bind|join|register)(?:ing|ed)? (?:on|to|at|with) )"
    rb"|\bcmd=ADD_NODE\b|\bStart ZMQ recv thread|\bStarted server with target: |\bAPI:IN: "
    rb"|(?i:\binitiali[sz]ing (?:the )?(?:distributed|ddp|(?:torch )?process group|nccl))"
    rb"|(?i:\b(?:start(?:ing|ed)?|begin(?:ning|s)?|run(?:ning)?) (?:the |of )?"
    rb"(?:train(?:ing|er)?\b(?! (?:done|complete))|(?:at )?epoch\b))"
    rb"|(?i:^[\s=>*#-]{0,20}epoch\b[\s:#(\[]{0,4}\d{1,6}(?:\s?(?:/|of)\s?\d{1,6})?[)\]]?[\s:.=*#-]{0,20}$)"
    rb"|(?i:\bload(?:ing)? (?:the )?(?:data(?:set)?s?|model|weights|checkpoint|extension module|"
    rb"tokenizer|pretrained)\b)|(?i:\b(?:build(?:ing)?|creat(?:e|ing)|compil(?:e|ing)) (?:the )?"
    rb"(?:model|graph|network|dataloaders?|datasets?)\b)|\b0%\|\s{0,80}\| 0/\d"
)
"""What the last lines of a start say that goes no further."""
_RETURNED = b" API:OUT: "
"""A call of Neuron's runtime came back."""
_REFUSED = re.compile(
    rb"(?i)\b(?:failed to|failed(?=:)|(?:could|can|did) ?(?:not|n?'t)|unable to|denied|refused|"
    rb"timed out|unreachable|no such|not found|does not exist|gave up|giving up|insufficient|"
    rb"abort(?:ed|ing))\b"
)
"""What the last lines of a start say that was refused something, without the mark of an error."""
_GIVEN_UP = re.compile(rb"(?:\[rank\d{1,7}\]: ?)?KeyboardInterrupt")
_TRACEBACK = 60
"""Lines at the end that hold the last calls of a traceback."""
_IGNORED = b"Exception ignored in"
_UNMOVED = re.compile(
    rb"(?:^|[\s:])(?:0%)?\|\s{0,200}(?:\| {0,3}0/[\d?].{0,200}|(?<=%\|)\s{0,200})$"
)
"""A progress bar of which nothing is done, cut off or whole."""

_TOLD = re.compile(
    rb"(?i)(?!.*\b(?:if|in case|may|might|can|could|would|should|avoid|prevent|warn\w*|"
    rb"will|early|patience|improve\w*)\b)(?:\w[\w\'-]{0,30},? ){2,80}?"
    rb"(?:hangs|hung|freezes|froze|stuck|stands still|"
    rb"stops (?:after|at|without|responding|working)|does(?: no|n\')t (?:move|continue|go on))\b"
    rb"(?:[ ,;]{1,2}[\w\'-]{1,30}){0,60}[ .!?:,;)]"
)
"""What somebody wrote above a log that he pasted: a sentence that says that it stands."""

_LAST = 3
"""So many lines at the end may hold it."""
_STEPPED = frozenset({"training.step", "training.loss", "training.throughput"})

KERNEL = re.compile(
    rb"^(?:<\d{1,3}>)?\[(?: *\d{1,12}\.\d{6}|[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d [\d:]{8} \d{4})\] "
    rb"|\bkernel: "
)
"""The kernel's own lines, whose words are known, have a reader of their own."""


def add(
    files: Mapping[str, Path],
    whose: Mapping[str, int | None],
    resource: TelemetryResource,
    found: ArtefactContents,
) -> None:
    """Quote the last words of logs, by name, where neither a line nor an end tells of a fault.

    `whose`: the rank that wrote each log, None where it is nobody's alone.
    """
    if found.telling or any(event.name == "process.exit" for event in found.events):
        return
    stepped = any(sample.metric in _STEPPED for _, sample in found.samples)
    for name, path in files.items():
        try:
            lines, end = words(path, stepped=stepped)
            written = path.stat().st_mtime
        except OSError:
            continue  # said where it was read
        rank = whose.get(name)
        known = {quote.line for quote in found.quotes if quote.file == name}
        lines = [one for one in lines if one[0] not in known]
        if not lines:
            continue
        at = written if found.until is None else found.until
        raised = _raised(lines[-1][1], at, rank) if lines[-1][0] == end else None
        for number, text in lines:
            signature = tracebacks.SIGNATURE if raised and number == end else LAST_WORDS
            found.quotes.append(LogQuote(name, number, None, rank, signature, "root", text))
        pairs = {"signature": LAST_WORDS, "role": "root", "text": lines[0][1]}
        said = raised or Event("log.fault", at, pairs)
        found.events.append(replace(said, resource=resource))
        found.understood(name, "log whose end is quoted")


def words(path: Path, *, stepped: bool = True) -> tuple[list[tuple[int, str]], int]:
    """Return (line, text) of the errors at the end of a log, and the number of its last line.

    Of errors below which nothing went on, in its last 64 KiB; blank lines are none. Where there is
    none, a bar at its very end that did not move, and where no log has `stepped` the call in which
    somebody interrupted it, what not all ranks say, or the last line that was refused or sets
    something up; else a training that a list of processes shows idle, or what somebody wrote above
    it. Raises OSError.
    """
    tail = LogTail.read(path)
    lines = tail.lines
    errors = list(_errors(lines))[-_MOST_QUOTED:] or _waiting(lines)
    if not errors and not stepped:
        errors = _interrupted(lines) or half_said.find(lines) or _ending(lines)
    errors = errors or process_lists.idle(lines) or said_to_stand(lines)
    first = tail.first() if errors else 1
    said = [
        (first + place, cleaning.shown(line.decode("utf-8", "replace").strip()))
        for place, line in reversed(errors)
    ]
    return said, first + len(lines) - 1


def _raised(line: str, at: float, rank: int | None) -> Event | None:
    """Return the exception by which a process ended itself, None where a line is none."""
    cleaned = cleaning.clean(line.encode())
    named = _RAISED.fullmatch(cleaned.text)
    if named is None or tracebacks.role(named["kind"], cleaned.text) != "root":
        return None
    whose = cleaned.rank if rank is None else rank
    raised = tracebacks.RaisedException(named["kind"], cleaned.text)
    return tracebacks.event(raised, at, whose)


def _errors(lines: Sequence[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield (place, text) of errors from the last line on, up to one that shows that it went on."""
    ignored = dropped(lines)
    for place in range(len(lines) - 1, -1, -1):
        if place in ignored:
            continue
        *bars, line = behind_bars.parted(lines[place][:_LONGEST])
        if survival.went_on(line):
            return
        if _ERROR.search(line) and not _HARMLESS.search(line) and not KERNEL.search(line):
            yield place, line
        if any(map(survival.went_on, bars)):
            return


def dropped(lines: Sequence[bytes]) -> set[int]:
    """Return the places of exceptions that ended nothing.

    Those of finalisers, which Python ignores, and of services once the training was complete.
    """
    found = follow_ups.places(lines)
    inside = False
    for place, line in enumerate(lines):
        inside |= _IGNORED in line
        if inside:
            found.add(place)
            inside = line.startswith((b" ", b"Traceback")) or _IGNORED in line
    return found


def _waiting(lines: Sequence[bytes]) -> list[tuple[int, bytes]]:
    """Return (place, text) of the last line, where that is a bar which did not move."""
    last = next((place for place in range(len(lines) - 1, -1, -1) if lines[place].strip()), None)
    if last is None:
        return []
    bar = lines[last].rpartition(b"\r")[2]
    return [(last, bar)] if _UNMOVED.search(bar) else []


def _interrupted(lines: Sequence[bytes]) -> list[tuple[int, bytes]]:
    """Return (place, text) of the innermost call of a start that somebody gave up on."""
    written = [place for place, line in enumerate(lines) if line.strip()]
    if not written or _GIVEN_UP.fullmatch(lines[written[-1]].strip()) is None:
        return []
    calls = [place for place in written[-_TRACEBACK:] if b'  File "' in lines[place]]
    return [(calls[-1], lines[calls[-1]])] if calls else []


def _ending(lines: Sequence[bytes]) -> list[tuple[int, bytes]]:
    """Return (place, text) of the last line of a start that was refused, or sets something up.

    None where anything went on after it.
    """
    last = [place for place, line in enumerate(lines) if line.strip()][-_LAST:]
    heads = {place: lines[place][:_LONGEST] for place in last}
    if any(survival.went_on(head) or _RETURNED in head for head in heads.values()):
        return []
    said = {place: head for place, head in heads.items() if not KERNEL.search(head)}
    found = [
        (place, lines[place])
        for place, head in said.items()
        if _REFUSED.search(head) and not _HARMLESS.search(head)
    ]
    found = found or [(place, lines[place]) for place in said if _SETS_UP.search(said[place])]
    return found[-1:]


def said_to_stand(lines: Sequence[bytes]) -> list[tuple[int, bytes]]:
    """Return (place, text) of the first sentence that says that what is pasted below it stands."""
    found = (place for place, line in enumerate(lines) if _TOLD.match(line[:_LONGEST]))
    return [(place, lines[place]) for place in list(found)[:1]]
