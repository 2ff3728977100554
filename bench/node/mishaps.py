"""One fault of each kind on an otherwise healthy node, and the events that it should give."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from rankscope.lab.node import nvml
from rankscope.vocabulary.samples import Event

from .healthy_life import NodeDay
from .kernel_log import ERROR

_CLOSELY = 25
_AFTER = 10


@dataclass(frozen=True, slots=True)
class NodeMishap:
    """A fault: what brings it about, what ends it, and its events by name."""

    inflict: Callable[[], object]
    heal: Callable[[], object]
    expected: tuple[str, ...]


def alarming(event: Event) -> bool:
    """Tell an event that somebody is meant to act on from news and from mere confirmations.

    A corrected error on the bus is one of those: it says something beside another fault only.
    """
    valid = event.attributes
    if event.name == "gpu.fault":
        return valid.get("class") != "info"
    if valid.get("role") == "confirmation":
        return False
    return valid.get("state") not in ("up", "cleared")


def named(event: Event) -> str:
    valid: dict[str, Any] = dict(event.attributes)
    what = valid.get("code") or valid.get("signature") or valid.get("kind") or valid.get("state")
    return f"{event.name} {what}" if what else event.name


def through(life: NodeDay, mishap: NodeMishap) -> list[Event]:
    """Let a fault happen, last and end; return its alarming events."""
    before = len(life.agent.reported)
    mishap.inflict()
    life.closely(_CLOSELY)
    for _ in range(_AFTER):
        life.step(60.0)
    mishap.heal()
    life.closely(_CLOSELY)
    for _ in range(_AFTER):
        life.step(60.0)
    return [event for event in life.agent.reported[before:] if alarming(event)]


def all_of(life: NodeDay) -> Iterator[tuple[str, NodeMishap]]:
    """Yield the faults that this node can have."""
    scenario, network, log = life.scenario, life.trees.network, life.log
    address = life.trees.gpus[0]

    def both_tell() -> None:
        log.xid(address, 48, "An uncorrectable double bit error (DBE) has been detected on GPU")
        if life.agent.worker is not None:
            life.agent.worker.write(event="xid", device=life.uuids[0], code=48, at=life.clock.now())

    yield "XID, told by the log and by NVML", NodeMishap(both_tell, _nothing, ("gpu.fault 48",))
    yield (
        "uncorrected memory error",
        NodeMishap(
            lambda: scenario.set(0, "ecc_dbe", 1), _nothing, ("gpu.fault ecc.uncorrectable",)
        ),
    )
    if scenario.get(0, "remap_pending") is not None:
        for key in ("pending", "failed"):
            yield (
                f"row remap {key}",
                NodeMishap(
                    lambda key=key: scenario.set(1, f"remap_{key}", 1),  # type: ignore[misc]
                    lambda key=key: scenario.set(1, f"remap_{key}", 0),  # type: ignore[misc]
                    (f"gpu.fault row_remap.{key}",),
                ),
            )
    if scenario.get(0, "recovery_action") is not None:
        yield (
            "the driver asks for a reset",
            NodeMishap(
                lambda: scenario.set(1, "recovery_action", 1),
                lambda: scenario.set(1, "recovery_action", 0),
                ("gpu.fault recovery.gpu_reset",),
            ),
        )
    yield (
        "clocks held down for long",
        NodeMishap(
            lambda: scenario.set(1, "throttle_reasons", 0x48),
            lambda: scenario.unset(1, "throttle_reasons"),
            ("gpu.fault slowdown.sustained",),
        ),
    )
    yield (
        "lost GPU",
        NodeMishap(lambda: scenario.lose(1), lambda: scenario.recover(1), ("gpu.fault nvml.lost",)),
    )
    yield (
        "GPU that needs a reset",
        NodeMishap(
            lambda: scenario.require_reset(1),
            lambda: scenario.recover(1),
            ("gpu.fault nvml.reset_required",),
        ),
    )
    yield (
        "hung call",
        NodeMishap(lambda: _hang(life), lambda: _back(life), ("gpu.fault nvml.hung",)),
    )
    config = life.trees.pci.folder(life.trees.gpus[1]) / "config"
    whole = config.read_bytes()
    yield (
        "gone from the bus",
        NodeMishap(
            lambda: life.trees.pci.silence(life.trees.gpus[1]),
            lambda: config.write_bytes(whole),
            ("gpu.fault pci.gone",),
        ),
    )
    yield from _of_the_network(life, network)
    yield (
        "process killed for memory",
        NodeMishap(lambda: _oom(life), _nothing, ("host.oom_kill",)),
    )
    yield (
        "stuck process",
        NodeMishap(
            lambda: life.write(
                "INFO: task python3:4242 blocked for more than 120 seconds.", level=ERROR
            ),
            _nothing,
            ("log.fault task.hung",),
        ),
    )
    yield "another driver", NodeMishap(lambda: _update(life), _nothing, ("change driver",))


def _of_the_network(life: NodeDay, network: Any) -> Iterator[tuple[str, NodeMishap]]:
    if not life.trees.nics:
        return
    nic = life.trees.nics[0]
    if life.network == "ethernet":
        yield (
            "link down",
            NodeMishap(
                lambda: network.interface_down(nic),
                lambda: network.interface_up(nic),
                ("network.link down",),
            ),
        )
        return
    # The port itself counts the fall: the same fault in its words, reported beside.
    yield (
        "link down",
        NodeMishap(
            lambda: network.down(nic),
            lambda: network.up(nic),
            ("network.fault link_downed", "network.link down"),
        ),
    )
    yield (
        "bad cable",
        NodeMishap(
            lambda: network.count(life.trees.nics[1], "symbol_error", 500),
            _nothing,
            ("network.fault symbol_error",),
        ),
    )


def _oom(life: NodeDay) -> None:
    """Both windows show it: the kernel's log and its counter."""
    life.log.oom_kill(4242, "python3", "/kubepods/pod1")
    vmstat = life.trees.files.proc / "vmstat"
    lines = life.trees.files.read(vmstat).splitlines()
    counted = [
        f"oom_kill {int(line.split()[1]) + 1}" if line.startswith("oom_kill ") else line
        for line in lines
    ]
    life.trees.files.write(vmstat, "\n".join(counted))


def _update(life: NodeDay) -> None:
    """Put another driver in the old one's place."""
    files = life.trees.files
    for path in (files.sys / "module/nvidia/version", files.proc / "driver/nvidia/version"):
        said = files.read(path)
        files.write(path, said.replace(str(nvml.DRIVERS["driver_version"]), "575.57.08"))


def _hang(life: NodeDay) -> None:
    """Say what the worker's watch would: in one process, a call that hangs would hang us all."""
    if life.agent.worker is not None:
        for seconds in (3.5, 6.0, 9.0):
            life.agent.worker.write(
                hung=seconds, device=life.uuids[0], function="nvmlDeviceGetTemperature"
            )
        life.agent.worker.mute.add(life.uuids[0])


def _back(life: NodeDay) -> None:
    if life.agent.worker is not None:
        life.agent.worker.mute.clear()
        life.agent.worker.write(back=True, device=life.uuids[0])


def _nothing() -> None:
    """Leave it as it is: it happened once."""
