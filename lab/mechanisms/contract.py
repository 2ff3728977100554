"""What a real fault is: how a running job, or what is around it, is changed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

At = Literal["rank", "host", "process", "worker", "job"]
"""Entity at fault: a rank, its host, its process, its data loader's worker process, or the job."""

TRAINERS = ("torch", "numpy")

UNHURRIED = {"RANKSCOPE_LAB_DEVICE_SECONDS": "0.2"}
"""Environment of a job whose fault takes minutes: a fifth of a second a step spares the machine."""


class JobChange:
    """What a fault changes inside a process of the job; here nothing.

    The trainers call each method at one place of their loop, on the thread that trains; `load`
    is called wherever batches are made: in the trainer, or in the worker process of its loader.
    """

    def step(self, rank: int, index: int) -> None:
        """Do something at the begin of a step; may never return, or end the process."""

    def load(self, dataset: "list[bytes]") -> None:
        """Do something before a batch is made from the dataset that the loader holds."""

    def spoils(self) -> bool:
        """Return whether this step's batch is bad."""
        return False

    def gathered_bytes(self) -> int:
        """Return how many bytes this rank sends to rank 0 where the job gathers; 0: as usual."""
        return 0

    def ends(self) -> bool:
        """Return whether this rank has no more batches."""
        return False

    def other_size(self) -> int:
        """Return how many values this rank reduces beside its gradients, its peers do not; 0."""
        return 0

    def skips_collective(self) -> bool:
        """Return whether this rank leaves out the all-reduce of its gradients now."""
        return False

    def waits_alone(self) -> bool:
        """Return whether this rank then waits in a barrier, where its peers are not."""
        return False

    def other_collective(self) -> bool:
        """Return whether this rank calls another collective than its peers now."""
        return False


@dataclass(frozen=True, slots=True)
class FaultMechanism:
    """One way to make a fault happen in a real job. A row of `MECHANISMS`.

    name: what `--mechanism` takes. fault: its id, "" where nothing is wrong. text: what is
    done, with {rank} and {host}. at: the entity at fault. change: made in the ranks of the order.
    everywhere: all ranks get the order, else one. first: it is rank 0's. job: environment of the
    ranks, with {folder}. beside: module and arguments of a process that runs from the start, with
    {folder}. signal: sent to the rank's process. quota: CPUs that the host's ranks get together.
    neighbours: busy processes on the host's CPUs. link: the second host's ranks reach the others
    through lab/jobs/link.py. shm_mib: size of a /dev/shm of its own for each host. trainers: that
    can have it. patience: seconds to wait for the incident. quiet: seconds in which no incident may
    come, where nothing is wrong. symptoms: kinds of which an incident of this fault has one, empty:
    any; both hosts are this machine, and other work may slow its steps and fill its memory.
    harmless: an observation of such a symptom is right, as it costs nothing. answers: faults that
    are a right first cause, empty: the fault itself.
    """

    name: str
    fault: str
    text: str
    at: At = "rank"
    change: Callable[[], JobChange] | None = None
    everywhere: bool = False
    first: bool = False
    job: Mapping[str, str] = field(default_factory=dict[str, str])
    beside: tuple[str, ...] = ()
    signal: int = 0
    quota: float = 0.0
    neighbours: bool = False
    link: bool = False
    shm_mib: int = 0
    trainers: tuple[str, ...] = TRAINERS
    patience: float = 120.0
    quiet: float = 0.0
    symptoms: frozenset[str] = frozenset()
    harmless: bool = False
    answers: tuple[str, ...] = ()


NOTHING = FaultMechanism(name="nothing", fault="", at="job", text="nothing is done")
"""For jobs that get their orders from elsewhere, or none."""
