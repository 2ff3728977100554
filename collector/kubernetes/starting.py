"""Puts the writer to Kubernetes together, where writing back is asked for."""

from prometheus_client import CollectorRegistry

from ...vocabulary.clock import Clock
from ..settings.kubernetes import KubernetesSettings
from ..store.store import Store
from .server import Server
from .writer import Writer


def writer(
    settings: KubernetesSettings, *, store: Store, clock: Clock, registry: CollectorRegistry
) -> Writer | None:
    """Return what writes marks to nodes; None where it is not asked for."""
    if not settings.write_back:
        return None
    return Writer(
        settings=settings, api=Server(settings), store=store, clock=clock, registry=registry
    )
