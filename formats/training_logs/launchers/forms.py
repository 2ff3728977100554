"""The forms of launchers' lines as data: what a line looks like, and what it reports."""

from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

from ....vocabulary import tables
from ....vocabulary.patterns import DeferredPattern

FILES = (
    "slurm",
    "mpi",
    "torch",
    "deepspeed",
    "ray",
    "jax",
    "kubernetes",
    "submitters",
    "clouds",
    "containers",
    "platforms",
    "shells",
    "queues",
    "others",
)
"""The files beside this one; of the forms that a line may have the first counts."""

ReportKind = Literal[
    "exit", "verdict", "follows", "oom", "node", "stop", "asked", "place", "raised", "pending"
]
"""exit: a process ended. verdict: the same, of which the launcher may name a survivor. follows: it
ended since another had. oom: it was killed for memory. node: a node failed. stop: somebody or a
scheduler ends the job. asked: the launcher tells what is left to end. place: where a process runs.
raised: the traceback that follows is that of a process. pending: a process waits for a
place to run.
"""

Counting = Literal["rank", "local", "task", "pod", ""]
"""What the numbers of processes are: ranks of the job, ranks of one node, a scheduler's tasks, of
which each may be a rank or start all of a node, pods by their names; "": the lines name none."""


@dataclass(frozen=True, slots=True)
class LaunchForm:
    """One form of a line. Every such line has the text `needle`, or one of those in `also`.

    Groups of `pattern`: tasks (`3`, `0-3,5`), host, pod, job, pid, code, signal (a number or its
    name), size, and `time`. after: names of forms one of which stands at most `within` lines
    before; what it had is part of the report. task: the process meant where the line names none.
    code: what an exit without a code or a signal is. reason: a scheduler's word for it. until:
    names of forms of which one anywhere shows that what was pending came about.
    """

    name: str
    kind: ReportKind
    needle: str
    pattern: DeferredPattern
    meaning: str
    counts: Counting = ""
    after: tuple[str, ...] = ()
    within: int = 8
    task: int | None = None
    code: int | None = None
    reason: str = ""
    until: tuple[str, ...] = ()
    also: tuple[str, ...] = ()


@cache
def catalogue() -> tuple[LaunchForm, ...]:
    """Return the forms of all launchers, one for each text of a row; the first of a line wins."""
    package = __package__ or ""
    return tuple(
        replace(form, needle=needle)
        for name in FILES
        for form in tables.packaged(
            LaunchForm, package, f"{name}.toml", "form", beside="source", unique=False
        )
        for needle in (form.needle, *form.also)
    )
