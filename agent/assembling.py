"""The readers, the fault tracker, the dcgm-exporter names and profiling, as the settings ask."""

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..vocabulary import device_faults
from ..vocabulary.samples import Sample
from . import boots
from .attribution import DeviceAttribution
from .device_faults import FaultTracker
from .devices import DeviceRegister
from .health import AgentHealth
from .listeners import StartError
from .readers import NodeReader
from .reading import ReadingThread
from .support_log import SupportLog
from .trainers import TrainerRegister

if TYPE_CHECKING:
    from .dcgm_names import DcgmPage
    from .profiling import ProfileService
    from .requests.asking import RequestClient
    from .requests.checking import CheckService
    from .requests.restarting import RestartService
    from .settings import AgentSettings, PushSettings

QUICK_SECONDS = 1.0
"""Readers of this period or less have a thread of their own."""


def chosen(every: Sequence[NodeReader], *, off: Collection[str]) -> list[NodeReader]:
    """Return the readers that are not off; raises StartError for a name that none has."""
    unknown = set(off) - {reader.name for reader in every}
    if unknown:
        raise StartError(
            f"readers.off: there is no reader {', '.join(sorted(unknown))}; "
            f"there are {', '.join(reader.name for reader in every)}"
        )
    return [reader for reader in every if reader.name not in off]


def readings(
    chosen: Sequence[NodeReader],
    *,
    health: AgentHealth,
    now: Callable[[], float],
    deliver: Callable[[NodeReader, list[Sample], float], None],
    delivered: Callable[[], None],
    support: SupportLog,
) -> list[ReadingThread]:
    """Return what runs the readers: quick ones apart, so that no slow one holds them up."""
    slow = [reader for reader in chosen if reader.period > QUICK_SECONDS]
    quick = [reader for reader in chosen if reader.period <= QUICK_SECONDS]
    return [
        ReadingThread(
            readers=group,
            health=health,
            now=now,
            deliver=deliver,
            delivered=delivered,
            support=support,
        )
        for group in (slow, quick)
        if group
    ]


def fault_tracker(
    settings: "AgentSettings", *, devices: DeviceRegister, state: Path, now: float
) -> FaultTracker:
    """Return the tracker with what was kept; raises StartError for bad overrides."""
    knowledge = device_faults.catalogue()
    overrides = settings.faults.overrides
    if overrides is not None:
        try:
            knowledge = device_faults.overridden(knowledge, overrides)
        except device_faults.OverrideError as error:
            raise StartError(f"faults.overrides: {error}") from error
    return FaultTracker(
        boot_id=boots.boot_id(settings.node.proc),
        now=now,
        devices=devices,
        knowledge=knowledge,
        state=state,
    )


def dcgm_page(
    settings: "AgentSettings", *, host: str, attribution: DeviceAttribution
) -> "DcgmPage | None":
    """Return what shows dcgm-exporter's names, None when nobody asked for them."""
    names = settings.export.dcgm_names
    if names == "off":
        return None
    from .dcgm_names import DcgmPage  # noqa: PLC0415  with readers of archives, 1 MB

    return DcgmPage(
        names=names,
        host=host,
        attribution=attribution,
        pod_uid=settings.attribution.pod_uid,
        links=settings.export.dcgm_links,
    )


def profiling(
    settings: "AgentSettings",
    *,
    host: str,
    socket: Path,
    trainers: TrainerRegister,
    health: AgentHealth,
    now: Callable[[], float],
) -> "ProfileService | None":
    """Return what profiles ranks, None where that is not allowed or there is no collector."""
    push = settings.push
    if not settings.profiling.allowed or not push.endpoint:
        return None
    from .profiling import ProfileService  # noqa: PLC0415  with what py-spy's traces need, 1 MB

    return ProfileService(
        settings.profiling,
        host=host,
        socket=socket,
        collector=_collector(push),
        trainers=trainers.everyone,
        health=health,
        now=now,
    )


def checking(
    settings: "AgentSettings", *, host: str, now: Callable[[], float]
) -> "CheckService | None":
    """Return what runs checks, None where that is not allowed or there is no collector."""
    push = settings.push
    if not settings.checking.allowed or not push.endpoint:
        return None
    from .requests.checking import CheckService  # noqa: PLC0415  off by default

    environment = {
        "RANKSCOPE_URL": push.endpoint,
        "RANKSCOPE_TOKEN": push.token.get_secret_value(),
    }
    if push.ca_file:
        environment["SSL_CERT_FILE"] = str(push.ca_file)
    return CheckService(
        settings.checking,
        host=host,
        collector=_collector(push),
        environment=environment,
        now=now,
    )


def restarting(
    settings: "AgentSettings", *, host: str, trainers: TrainerRegister
) -> "RestartService | None":
    """Return what ends ranks by order, None where that is not allowed or nobody can order it."""
    push = settings.push
    if not settings.restarting.allowed or not push.endpoint:
        return None
    from .requests.restarting import RestartService  # noqa: PLC0415  off by default

    return RestartService(
        settings.restarting,
        host=host,
        collector=_collector(push),
        trainers=trainers.everyone,
        proc=settings.node.proc,
    )


def _collector(push: "PushSettings") -> "RequestClient":
    from .requests.asking import RequestClient  # noqa: PLC0415

    return RequestClient(
        push.endpoint,
        timeout=push.timeout_seconds,
        token=push.token.get_secret_value(),
        ca_file=push.ca_file,
    )
