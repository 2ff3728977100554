"""What is taken of what a process sends, and what of it is marked as claimed.

What the agent observes itself, events and readings of the node and its processes, is taken from
none. What is of another rank or process than the sender's own, and all that comes from a sender who
was not shown to be the rank it says it is, goes on as claimed.
"""

import logging
from collections.abc import Mapping, Sequence

from ..vocabulary import events as event_kinds
from ..vocabulary import metrics
from ..vocabulary.samples import CLAIMED, Event, Sample, Scalar, claimed
from .health import AgentHealth
from .hung import STACK
from .trainers import TrainerProcess

_log = logging.getLogger(__name__)


class ProcessReports:
    """Looks through samples and events of datagrams, and counts; for one thread."""

    def __init__(self, *, health: AgentHealth, stacks: bool) -> None:
        """`stacks`: whether those are taken that a process sends of itself."""
        self._health = health
        self._stacks = stacks
        self._observed = metrics.observed()
        self._looked_at = self._observed | {"training.rank.info"}  # which names a process
        self._refused: set[str] = set()
        """Metrics of which it was logged that they are taken from no process."""

    def samples(self, samples: Sequence[Sample], trainer: TrainerProcess) -> Sequence[Sample]:
        """Return what is taken of a process's samples."""
        mine, looked_at = ("rank", trainer.rank), self._looked_at
        for sample in samples:
            if trainer.doubt or mine not in sample.attributes or sample.metric in looked_at:
                break
        else:
            return samples  # as nearly always
        taken: list[Sample] = []
        for sample in samples:
            if sample.metric in self._observed:
                self._refuse(sample.metric, trainer)
                continue
            why = trainer.doubt or _doubt(dict(sample.attributes), trainer)
            if why:
                self._health.count("samples_claimed", why)
                pairs = claimed(sample.attributes)
                sample = Sample(sample.metric, sample.value, sample.at, pairs)
            taken.append(sample)
        return taken

    def events(self, events: Sequence[Event], trainer: TrainerProcess) -> Sequence[Event]:
        """Return what is taken of a process's events."""
        taken: list[Event] = []
        for event in events:
            kind = event_kinds.catalogue().get(event.name)
            if kind is not None and kind.observed:
                self._health.count("events_refused", event.name)
                continue
            if event.name == STACK and not self._stacks:
                continue
            why = trainer.doubt or _doubt(event.attributes, trainer)
            if why:
                self._health.count("events_claimed", why)
                event = Event(event.name, event.at, {**event.attributes, **CLAIMED})
            taken.append(event)
        return taken

    def _refuse(self, metric: str, trainer: TrainerProcess) -> None:
        self._health.count("samples_refused", metric)
        if metric in self._refused:
            return
        self._refused.add(metric)
        _log.warning(
            "%s is read by the agent and taken from no process: pid %s (job %s, rank %d) sends it; "
            "send another name instead. Further samples are counted in "
            "rankscope_agent_samples_refused_total",
            metric,
            trainer.pid,
            trainer.job,
            trainer.rank,
        )


def _doubt(pairs: Mapping[str, Scalar], trainer: TrainerProcess) -> str:
    """Return "other" where something is not of the rank and the process that sent it, else ""."""
    rank, pid = pairs.get("rank", trainer.rank), pairs.get("pid")
    own = rank == trainer.rank and pid in (None, trainer.pid, trainer.container_pid)
    return "" if own else "other"
