"""Cases of a suite that are run once: what came of each is kept in a file of its own.

Files are pickles of the bench's own, in the folder that it is given; nobody else's is ever read. A
case whose file is there is not run again: after a change of code take another folder.
"""

import pickle
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from rankscope.lab.suites.cases import SuiteCase

C = TypeVar("C")
"""What is kept of a case."""


def kept(
    cases: Sequence[SuiteCase], folder: Path, collect: Callable[[SuiteCase], C]
) -> Iterator[C]:
    """Return the cases in their order, collected where no file is there. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    for case in cases:
        path = file(case, folder)
        if path.exists():
            yield pickle.loads(zlib.decompress(path.read_bytes()))  # noqa: S301  our own
            continue
        held = collect(case)
        new = path.with_suffix(".new")
        new.write_bytes(zlib.compress(pickle.dumps(held, protocol=5), 1))
        new.replace(path)
        yield held


def file(case: SuiteCase, folder: Path) -> Path:
    """Return where a case is kept; cases of one name and other seeds are apart."""
    return folder / f"{case.suite}-{case.name}-{case.seed}.kept"
