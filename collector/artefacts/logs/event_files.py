"""TensorBoard event files: the steps and losses of a training whose output nobody kept.

A folder may hold those of many runs. The one that was written last is asked about, with all files
that it left: a run that is started again begins a new one beside the old.
"""

from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from ....formats import tensorboard
from ....formats.tensorboard import EventParser
from ....formats.training_logs import LoggedLine, resumes, told_lines
from ..found import ArtefactContents
from .contents import LogContents
from .nonfinite import NonfiniteQuotes

_PIECE, _MOST_BYTES = 1 << 18, 64 << 20
"""Bytes that are read at once, and of a file: what a run wrote last says why it is asked about."""
_RANK = 0
"""Whose values they are: frameworks let one process write those of all."""
_LOSS = "training.loss"
_BEGINS = 1
"""The step of a training that begins, at most."""


def is_events(head: bytes) -> bool:
    """Tell whether a file that begins so holds events of TensorBoard."""
    return tensorboard.is_events(head)


def add(files: Mapping[str, Path], gathered: LogContents, found: ArtefactContents) -> None:
    """Add the values of the newest run, where no log tells any; errors of files go to `found`."""
    runs: dict[PurePosixPath, dict[str, list[LoggedLine]]] = {}
    for name in sorted(files):
        try:
            lines = _read(files[name])
        except OSError as error:
            found.unread[name] = f"cannot be read: {error.strerror}"
            continue
        if lines:
            runs.setdefault(PurePosixPath(name).parent, {})[name] = lines
        else:
            found.unread[name] = "TensorBoard events, none of which is a loss, norm or rate"
    if any(sample.metric == _LOSS for _, sample in gathered.samples):
        for run in runs.values():
            found.read.update(dict.fromkeys(run, "TensorBoard events, which the logs tell too"))
        return
    whole = {folder: run for folder, run in runs.items() if _has_losses(run)} or runs
    newest = max(whole, key=lambda folder: _newest(whole[folder]), default=None)
    for folder, run in runs.items():
        if folder == newest:
            _take_run(run, gathered, found)
        else:
            found.read.update(dict.fromkeys(run, "TensorBoard events of another, earlier run"))


def _read(path: Path) -> list[LoggedLine]:
    """Return what a file reports. Raises OSError."""
    parser = EventParser(rank=_RANK)
    lines: list[LoggedLine] = []
    with path.open("rb") as opened:
        start = max(path.stat().st_size - _MOST_BYTES, 0)
        if start:
            opened.seek(start)
            parser.skip()
        while piece := opened.read(_PIECE):
            lines += parser.feed(piece)
    return lines


def _has_losses(run: Mapping[str, list[LoggedLine]]) -> bool:
    return any(one.metric == _LOSS for lines in run.values() for line in lines
               for one in line.samples)  # fmt: skip


def _newest(run: Mapping[str, list[LoggedLine]]) -> float:
    return max(line.at or 0.0 for lines in run.values() for line in lines)


def _take_run(
    run: Mapping[str, list[LoggedLine]], gathered: LogContents, found: ArtefactContents
) -> None:
    """Take the files of a run, the oldest first. A later one that does not begin anew resumes."""
    for number, name in enumerate(sorted(run, key=lambda one: run[one][0].at or 0.0)):
        lines = run[name]
        steps = [one.value for one in lines[0].samples if one.metric == "training.step"]
        if number and steps and steps[0] > _BEGINS:
            at = lines[0].at or 0.0
            text = f"a process began this file of the run at step {steps[0]:.0f}"
            gathered.events.append((_RANK, "", told_lines.event(resumes.EVENT, text, at, _RANK)))
        _take(name, lines, gathered, found)


def _take(
    name: str, lines: list[LoggedLine], gathered: LogContents, found: ArtefactContents
) -> None:
    quotes = NonfiniteQuotes(name)
    for line in lines:
        gathered.samples += [(_RANK, sample) for sample in line.samples]
        gathered.events += [(_RANK, "", event) for event in line.events]
        quotes.learn(line, _RANK)
        if line.at:
            gathered.process(_RANK).lives(line.at)
    found.quotes += quotes.quotes()
    found.read[name] = f"TensorBoard events, {len(lines)} of which say something"
