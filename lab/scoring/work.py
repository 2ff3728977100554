"""Runs the cases of a suite on all cores; every result is kept at once, so a run can be resumed.

Results are appended to a file of JSON lines, under a key that changes with the case and with the
code behind it: what is there already is not run again. Ctrl-C loses at most the cases that are
being run. A worker process that dies is a result with an error like any other; workers whose
parent has ended, however it did, end too.
"""

import gc
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import wait as wait_for
from pathlib import Path

from ..suites.cases import SuiteCase
from . import results, running
from .results import CaseResult

Report = Callable[[int, int, CaseResult], None]
"""Called with how many are done, how many there are in all, and the result that came in."""

_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_NEW_OBJECTS = 50_000
"""After so many new objects a worker looks for garbage: cases make little of it, and to look as
often as by default takes a twentieth of their time."""

_DIED = "the worker process ended while it ran this case (killed, or out of memory)"


@dataclass(frozen=True, slots=True)
class ScoringWork:
    """What to do: the cases, with how many processes, and the file that keeps results."""

    cases: Sequence[SuiteCase]
    jobs: int
    file: Path
    restart: bool = False
    with_baselines: bool = True

    def run(self, report: Report) -> list[CaseResult]:
        """Return a result for every case, in their order. Raises OSError, KeyboardInterrupt."""
        if self.restart:
            self.file.unlink(missing_ok=True)
        keys = [running.key(case, with_baselines=self.with_baselines) for case in self.cases]
        kept = results.read(self.file)
        done = {key: kept[key] for key in keys if key in kept and not kept[key].error}
        left = [(key, case) for key, case in zip(keys, self.cases, strict=True) if key not in done]
        total = len(set(keys))
        for row in self._results(left):
            results.append(self.file, [row])
            done[row.key] = row
            report(len(done), total, row)
        return [done[key] for key in keys]

    def _results(self, left: Sequence[tuple[str, SuiteCase]]) -> Iterator[CaseResult]:
        """Return results as they come; in this process with one job, as debugging wants it."""
        work = partial(running.run, with_baselines=self.with_baselines)
        if self.jobs == 1:
            yield from (work(case, key=key) for key, case in left)
            return
        yield from parallel(work, left, jobs=self.jobs)


def parallel(
    work: Callable[..., CaseResult], left: Sequence[tuple[str, SuiteCase]], *, jobs: int
) -> Iterator[CaseResult]:
    """Return the results of `work(case, key=key)` from so many processes, as they come.

    A process that dies takes the cases in flight with it: each is run again alone, and is an error
    when that process dies as well.
    """
    waiting, alone = list(reversed(left)), list[tuple[str, SuiteCase]]()
    with _pool(jobs) as pool:
        flying: dict[Future[CaseResult], tuple[str, SuiteCase]] = {}
        while waiting or flying:
            try:
                while waiting and len(flying) < 2 * jobs:
                    key, case = waiting[-1]
                    flying[pool.submit(work, case, key=key)] = waiting.pop()
                ready, _ = wait(flying, return_when=FIRST_COMPLETED)
                for future in ready:
                    row = future.result()
                    del flying[future]
                    yield row
            except BrokenProcessPool:
                alone = [*flying.values(), *reversed(waiting)]
                break
    # One process a case from the first death on for those that were in flight, then all again.
    suspects, rest = alone[: 2 * jobs], alone[2 * jobs :]
    for key, case in suspects:
        yield _alone(work, key, case)
    if rest:
        yield from parallel(work, rest, jobs=jobs)


def _alone(work: Callable[..., CaseResult], key: str, case: SuiteCase) -> CaseResult:
    with _pool(1) as pool:
        try:
            return pool.submit(work, case, key=key).result()
        except BrokenProcessPool:
            return results.empty(case, key, error=_DIED)


@contextmanager
def _pool(jobs: int) -> Generator[ProcessPoolExecutor, None, None]:
    """Return a pool that ends at once, its work dropped, when the block is left by an exception."""
    before = {name: os.environ.get(name) for name in _ONE_THREAD}
    os.environ.update(dict.fromkeys(_ONE_THREAD, "1"))
    pool = ProcessPoolExecutor(
        jobs, mp_context=multiprocessing.get_context("spawn"), initializer=_start_worker
    )
    try:
        yield pool
    except BaseException:
        for process in list((pool._processes or {}).values()):  # noqa: SLF001  no public way
            process.terminate()
        pool.shutdown(wait=True, cancel_futures=True)
        raise
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
    pool.shutdown(wait=True, cancel_futures=True)


def _start_worker() -> None:
    gc.set_threshold(_NEW_OBJECTS)
    _follow_parent()


def _follow_parent() -> None:
    """Leave Ctrl-C to the parent, which ends its workers, and end where it has ended without that.

    A worker would wait for its next case for ever: it holds both ends of the queue of cases.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None  # noqa: S101  this is a worker

    def end() -> None:
        wait_for([parent.sentinel])
        os._exit(1)

    threading.Thread(target=end, name="parent", daemon=True).start()


__all__ = ["Report", "ScoringWork", "parallel"]
