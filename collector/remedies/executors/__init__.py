"""Who carries out actions: a file each, chosen in `of`; `contract.py` says what one promises.

In: orders. Out: requests to a scheduler, a program or agents. Imports: alerts, vocabulary;
kubernetes, settings, store.
"""

from ....vocabulary.clock import Clock
from ...settings.actions import ExecutorSettings
from . import kubernetes, slurm, webhook
from .contract import RemedyExecutor
from .torchrun import AskedLaunchers, JobHosts, TorchrunExecutor


def of(
    settings: ExecutorSettings, clock: Clock, *, launchers: AskedLaunchers, hosts_of: JobHosts
) -> RemedyExecutor:
    """Return the executor that an entry of the settings asks for."""
    match settings.kind:
        case "webhook":
            return webhook.executor(settings, clock)
        case "slurm":
            return slurm.executor(settings, clock)
        case "kubernetes":
            return kubernetes.executor(settings, clock)
        case "torchrun":
            return TorchrunExecutor(settings, clock, store=launchers, hosts_of=hosts_of)
