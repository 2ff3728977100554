"""A whole node as folders: GPUs, network cards, switches between them, and what /proc says of them.

`build` makes a healthy one; its parts are then changed as a test or a demonstration wants.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rankscope.lab.node import nvml

from .kernel_files import KernelFiles
from .network_tree import NetworkTree
from .pci_tree import PciTree

Network = Literal["ndr", "hdr", "roce", "ethernet", "none"]

GENERATION = {"T4": 3, "A100": 4, "H100": 5, "L40S": 4, "B200": 5}
MANAGEMENT = "eno1"
"""The interface of the default route; every node has one."""

_MELLANOX, _CONNECTX7, _CONNECTX6 = 0x15B3, 0x1021, 0x101B
_INTEL, _X550 = 0x8086, 0x1563
_INFINIBAND_CLASS, _ETHERNET_CLASS = 0x020700, 0x020000


@dataclass(frozen=True, slots=True)
class NodeTrees:
    """The node's roots (`files.sys`, `.proc`, `.dev`) and the hands that change them."""

    files: KernelFiles
    pci: PciTree
    network: NetworkTree
    gpus: tuple[str, ...]
    """PCI addresses, as the NVML stub has them, too."""
    nics: tuple[str, ...]
    """RDMA devices, or interfaces where the node has none; the n-th sits beside the n-th GPU."""


def build(
    root: Path,
    *,
    profile: str = "H100",
    gpus: int = 8,
    nics: int | None = None,
    network: Network = "ndr",
    boot_id: str = "5f1f8a4e-7d1f-4a83-9a55-6b8f2d1c9e10",
) -> NodeTrees:
    """Build a healthy node below a folder: GPU n and network card n behind the switch n.

    `network`: NDR or HDR InfiniBand, RoCE, plain Ethernet cards, or none. The first half of the
    rails is on socket 0.
    """
    files = KernelFiles(root)
    pci, ports = PciTree(files), NetworkTree(files)
    cards = 0 if network == "none" else gpus if nics is None else nics
    device_id = int(nvml.load_profile(profile)["pci_device_id"]) >> 16
    addresses: list[str] = []
    names: list[str] = []
    for rail in range(max(gpus, cards)):
        address = nvml.bus_address(rail)
        numa = int(rail >= max(gpus, cards) / 2)
        beside_gpu, beside_card = pci.switch(address, numa=numa)
        if rail < gpus:
            generation = GENERATION[profile]
            pci.plug(
                address,
                inside=beside_gpu,
                device=device_id,
                driver="nvidia",
                numa=numa,
                generation=generation,
            )
            (files.dev / f"nvidia{rail}").touch()
            _information(files, address, rail, profile)
            addresses.append(address)
        if rail < cards:
            names.append(_card(pci, ports, address, beside_card, rail, network, numa))
    _management(files, pci, ports)
    if gpus:
        _driver(files)
    files.write(files.proc / "sys/kernel/random/boot_id", boot_id)
    return NodeTrees(files, pci, ports, tuple(addresses), tuple(names))


def _card(
    pci: PciTree,
    ports: NetworkTree,
    beside: str,
    inside: Path,
    rail: int,
    network: Network,
    numa: int,
) -> str:
    """Plug one network card in and return its name."""
    address = f"{beside[:5]}{int(beside[5:7], 16) - 3:02x}:00.0"
    infiniband = network in {"ndr", "hdr"}
    card = pci.plug(
        address,
        inside=inside,
        vendor=_MELLANOX,
        device=_CONNECTX6 if network == "hdr" else _CONNECTX7,
        kind=_INFINIBAND_CLASS if infiniband else _ETHERNET_CLASS,
        driver="mlx5_core",
        numa=numa,
        generation=4 if network == "hdr" else 5,
    )
    gigabits = 200 if network == "hdr" else 400
    interface = f"ib{rail}" if infiniband else f"ens{rail + 1}np0"
    if network == "ethernet":
        ports.interface(interface, card, megabits=gigabits * 1000)
        return interface
    kind: Literal["infiniband", "roce"] = "infiniband" if infiniband else "roce"
    ports.rdma(f"mlx5_{rail}", card, kind=kind, gigabits=gigabits, interface=interface)
    return f"mlx5_{rail}"


def _management(files: KernelFiles, pci: PciTree, ports: NetworkTree) -> None:
    card = pci.plug(
        "0000:02:00.0",
        vendor=_INTEL,
        device=_X550,
        kind=_ETHERNET_CLASS,
        driver="ixgbe",
        generation=3,
        width=4,
    )
    ports.interface(MANAGEMENT, card)
    ports.interface("lo", None, arp_type=772)
    head = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT"
    route = f"{MANAGEMENT}\t00000000\t0100000A\t0003\t0\t0\t100\t00000000\t0\t0\t0"
    for folder in (files.proc / "net", files.proc / "1" / "net"):
        files.write(folder / "route", f"{head}\n{route}")
    ports.summarise()


def _driver(files: KernelFiles) -> None:
    version = nvml.DRIVERS["driver_version"]
    files.write(files.sys / "module/nvidia/version", version)
    said = f"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  {version}  Release Build"
    files.write(files.proc / "driver/nvidia/version", said)
    for name in ("nvidiactl", "nvidia-uvm"):
        (files.dev / name).touch()


def _information(files: KernelFiles, address: str, gpu: int, profile: str) -> None:
    lines = {
        "Model": nvml.load_profile(profile)["name"],
        "GPU UUID": nvml.gpu_uuid(gpu),
        "Bus Type": "PCIe",
        "Bus Location": address,
        "Device Minor": gpu,
    }
    text = "\n".join(f"{name}: \t {value}" for name, value in lines.items())
    files.write(files.proc / "driver/nvidia/gpus" / address / "information", text)
