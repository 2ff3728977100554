"""Who carries out actions: a file each, listed in EXECUTORS; `contract.py` says what one promises.

In: orders. Out: requests to a scheduler or a program. Imports: alerts, vocabulary; kubernetes,
settings, store.
"""

from collections.abc import Callable, Mapping

from ....vocabulary.clock import Clock
from ...settings.actions import ExecutorSettings
from . import kubernetes, slurm, webhook
from .contract import RemedyExecutor

EXECUTORS: Mapping[str, Callable[[ExecutorSettings, Clock], RemedyExecutor]] = {
    "webhook": webhook.executor,
    "slurm": slurm.executor,
    "kubernetes": kubernetes.executor,
}


def of(settings: ExecutorSettings, clock: Clock) -> RemedyExecutor:
    """Return the executor that an entry of the settings asks for."""
    return EXECUTORS[settings.kind](settings, clock)
