"""The values of a line of the log's own form, as those of any format."""

import re
from collections.abc import Sequence

from ....vocabulary.patterns import DeferredPattern
from ..line_formats import LineForm, LineFormat
from ..named import of_a_test as speaks_of_a_test
from ..values import LineReading, Parts
from . import names
from .fields import LineField
from .forms import LearnedLine

NEEDLES = ("xent", "nll", "Cost ", "entropy=", "logloss", "perplexity", "\u635f\u5931")
"""Texts of lines with a loss of another name."""

_SKIPS = re.compile(
    r"(?i)^\W{0,8}(?:eval|valid|test|dev|benchmark)|train_runtime|train_num_updates"
)
_TEST = re.compile(r"(?<![a-z])(?:val|eval|test|dev)")

FORMAT = LineFormat(
    name="own",
    framework="a form of its own",
    rank="each",
    lines=(LineForm(needle="", pattern=DeferredPattern(""), interval=True),),
    whole=False,
)


def of_a_test(text: str, said: Sequence[LineField]) -> bool:
    """Tell whether a line is about an evaluation: not where a training's loss stands before its."""
    if _SKIPS.search(text):
        return True
    if not speaks_of_a_test(text):
        return False
    lowered = text.lower()
    test = _TEST.search(lowered)
    loss = [one.label.lower() for one in said if names.of_loss(one.label) is not None]
    return test is None or not loss or lowered.find(loss[0]) > test.start()


def reading(said: LearnedLine, rank: str | None) -> LineReading:
    """Return what a line says by metric."""
    parts: Parts = {("training.loss", ()): said.loss}
    if said.step is not None:
        parts["training.step", ()] = said.step
    if said.data is not None and said.took is not None:
        parts["training.data.duration", ()] = said.data
        parts["training.step.duration", ()] = said.took
    return LineReading(parts, int(rank) if rank else None, said.epoch, ("own",), said.once)
