"""Where one log holds several runs: steps that fall back, a prompt with the next command.

A job that somebody starts again, or its launcher, goes on writing into the same log. What ended the
run before ended it, whatever steps the next one makes. Counters that fall back with nothing wrong
above them count inside epochs, or folds: those begin no run that an error could have ended.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ....formats.training_logs import LoggedLine

_STEP, _LOSS = "training.step", "training.loss"
_EPOCH = re.compile(r"(?i)\bepoch['\"]?\s{0,3}[:=]\s{0,3}['\"]?(\d{1,6}(?:\.\d{1,9})?)")
"""How far a line that names no step says that training is."""

_COMMAND = (
    rb"(?:\w{1,40}=\S{0,200} ){0,8}(?:sudo |nohup |time |exec ){0,2}(?:\S{0,200}/)?"
    rb"(?:python[\d.]{0,5}|torchrun|accelerate|deepspeed|colossalai|bash|sh|srun|sbatch|mpirun|"
    rb"mpiexec|horovodrun|make|uv|docker|kubectl|llamafactory-cli|swift|axolotl|yolo|nnUNetv2_train|"
    rb"tools/dist_train\.sh|\./\S{1,200})\s"
)
PROMPT = re.compile(
    rb"(?m)^(?:\([\w.-]{1,80}\) ?){0,2}(?:\[?[\w.-]{1,64}@[\w.-]{1,128}(?::| )[^\n$#%]{0,200})?"
    rb"[$#%>] " + _COMMAND + rb"|^In \[\d{1,6}\]: \S"
)
"""A prompt of a shell, or of a notebook, and what was started behind it."""

_MARKS = (b"$ ", b"# ", b"% ", b"> ", b"In [")
"""Each prompt has one; most logs have none, and are searched sooner for these."""


def may_prompt(data: bytes) -> bool:
    """Tell whether lines may hold a prompt."""
    return any(mark in data for mark in _MARKS)


@dataclass(frozen=True, slots=True)
class StepFall:
    """Steps of a rank that fell back: the last line before it, that of it and its time or order."""

    before: int
    line: int
    rank: int | None
    at: float


@dataclass(slots=True)
class RunStarts:
    """Follows the lines of one log."""

    falls: list[StepFall] = field(default_factory=list[StepFall])
    _reached: dict[tuple[int | None, bool], tuple[float, int]] = field(
        default_factory=dict[tuple[int | None, bool], tuple[float, int]]
    )
    """By rank, and whether steps are counted: how far it is, and the line that says so."""

    def learn(self, line: LoggedLine, rank: int | None) -> None:
        """Take a line that a rank printed."""
        steps = [one.value for one in line.samples if one.metric == _STEP]
        losses = [one.at for one in line.samples if one.metric == _LOSS]
        if steps:
            reached, at = steps[0], line.samples[0].at
        elif losses and (found := _EPOCH.search(line.text)):
            reached, at = float(found[1]), losses[0]
        else:
            return
        key = rank, bool(steps)
        before = self._reached.get(key)
        if before is not None and reached < before[0]:
            self.falls.append(StepFall(before[1], line.line, rank, at))
        self._reached[key] = reached, line.line


def begun(falls: Iterable[StepFall], prompts: Iterable[int], errors: Sequence[int]) -> list[int]:
    """Return the first lines of runs that followed an error, ascending; `errors` are ascending."""
    falls = list(falls)
    after = [fall.line for fall in falls if _between(errors, fall.before, fall.line)]
    own = after if len(after) == len(falls) else []
    return sorted({*own, *prompts})


def _between(lines: Sequence[int], first: int, last: int) -> bool:
    return bisect_right(lines, first) < bisect_left(lines, last)
