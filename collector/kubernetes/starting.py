"""Puts the writer to Kubernetes together, where writing back is asked for."""

from prometheus_client import CollectorRegistry

from ...vocabulary.clock import Clock
from ..settings.kubernetes import KubernetesSettings
from ..store.store import IncidentDatabaseStore
from .server import KubernetesApi
from .writer import ConditionWriter


def writer(
    settings: KubernetesSettings,
    *,
    store: IncidentDatabaseStore,
    clock: Clock,
    registry: CollectorRegistry,
) -> ConditionWriter | None:
    """Return what writes marks to nodes; None where it is not asked for."""
    if not settings.write_back:
        return None
    return ConditionWriter(
        settings=settings, api=KubernetesApi(settings), store=store, clock=clock, registry=registry
    )
