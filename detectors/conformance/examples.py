"""The example in a detector's docstring: run, and the windows that it evaluates are kept."""

import copy
import doctest
import sys
import warnings
from collections.abc import Sequence
from types import TracebackType
from typing import Any
from unittest import mock

from ...vocabulary.findings import Finding
from ..contract import Detector
from ..window import JobWindow

_Raised = tuple[type[BaseException], BaseException, TracebackType]


class _ExampleRunner(doctest.DocTestRunner):
    """Runs an example and keeps what is wrong with it instead of printing it."""

    def __init__(self) -> None:
        super().__init__(verbose=False, optionflags=doctest.FAIL_FAST)
        self.found: list[str] = []

    def report_failure(self, out: Any, test: Any, example: doctest.Example, got: str) -> None:
        """Keep that a line printed something else."""
        del out, test
        self._keep(example, f"printed {_line(got)}, not {_line(example.want)}")

    def report_unexpected_exception(
        self, out: Any, test: Any, example: doctest.Example, exc_info: _Raised
    ) -> None:
        """Keep that a line raised something."""
        del out, test
        self._keep(example, f"raised {exc_info[0].__name__}: {exc_info[1]}")

    def _keep(self, example: doctest.Example, what: str) -> None:
        self.found.append(f"its docstring's example fails: `{_line(example.source)}` {what}")


def run(kind: type[Detector]) -> tuple[list[str], list[JobWindow]]:
    """Return what is wrong with the example of a class, and the windows that it evaluates.

    The windows are as they were before they were evaluated.
    """
    windows: list[JobWindow] = []
    evaluate = kind.evaluate

    def kept(detector: Detector, window: JobWindow) -> Sequence[Finding]:
        windows.append(copy.deepcopy(window))
        return evaluate(detector, window)

    module = sys.modules.get(kind.__module__)
    names = {} if module is None else dict(vars(module))
    try:
        test = doctest.DocTestParser().get_doctest(
            kind.__doc__ or "", names, kind.__name__, None, None
        )
    except ValueError as error:
        return [f"its docstring's example cannot be read: {_line(str(error))}"], []
    if not test.examples:
        return ["its docstring shows no example: no line of it begins with >>>"], []
    runner = _ExampleRunner()
    with mock.patch.object(kind, "evaluate", kept), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of evaluate are looked for by themselves
        runner.run(test)
    return runner.found, windows


def _line(text: str) -> str:
    return " ".join(text.split()) or "nothing"
