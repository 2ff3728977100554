"""Versions of kernel, drivers, firmware, and settings of the kernel that training feels.

Each is a (name, version) pair, the same name on every host, so that the odd one out shows. What a
host does not have has no pair.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from ... import kernel_files

Kind = Literal["driver", "config"]

_NVIDIA = re.compile(r"Kernel Module(?: for \S+)?\s+(\d[\w.]*)")
_MODULES = (
    "nvidia",
    "mlx5_core",
    "ib_core",
    "nvidia_peermem",
    "efa",
    "bnxt_re",
    "gdrdrv",
    "amdgpu",
)
_FLAGS = frozenset(
    {
        "iommu",
        "intel_iommu",
        "amd_iommu",
        "iommu.passthrough",
        "pci",
        "pcie_aspm",
        "pcie_acs_override",
        "numa_balancing",
        "mitigations",
        "isolcpus",
        "nohz_full",
        "processor.max_cstate",
        "intel_idle.max_cstate",
        "intel_pstate",
        "default_hugepagesz",
        "hugepages",
        "transparent_hugepage",
        "nosmt",
        "tsc",
    }
)
"""Flags of the kernel's command line that change how fast or how safely devices are reached."""
_MOST = 60
"""Longest version shown: what is longer is no version."""


def drivers(sys: Path, proc: Path) -> Iterator[tuple[str, str]]:
    """Yield kernel and modules."""
    yield from _named("kernel", kernel_files.text(f"{proc}/sys/kernel/osrelease"))
    nvidia = _NVIDIA.search(kernel_files.text(f"{proc}/driver/nvidia/version"))
    for module in _MODULES:
        found = kernel_files.text(f"{sys}/module/{module}/version")
        if module == "nvidia" and nvidia:
            found = nvidia[1]
        yield from _named(module, found)


def firmware(sys: Path) -> Iterator[tuple[str, str, str]]:
    """Yield (device, board, version) of network devices; the board is the same on every host."""
    folder = f"{sys}/class/infiniband"
    for device in kernel_files.names(folder):
        board = kernel_files.text(f"{folder}/{device}/board_id") or "rdma"
        version = kernel_files.text(f"{folder}/{device}/fw_ver")
        if version:
            yield device, board[:_MOST], version[:_MOST]


def settings(sys: Path, proc: Path) -> Iterator[tuple[str, str]]:
    """Yield settings: huge pages, frequency governor, NUMA balancing, flags of the command line."""
    huge = f"{sys}/kernel/mm/transparent_hugepage"
    yield from _named("transparent_hugepage", _chosen(kernel_files.text(f"{huge}/enabled")))
    yield from _named("transparent_hugepage.defrag", _chosen(kernel_files.text(f"{huge}/defrag")))
    yield from _named("numa_balancing", kernel_files.text(f"{proc}/sys/kernel/numa_balancing"))
    yield from _named("smt", kernel_files.text(f"{sys}/devices/system/cpu/smt/control"))
    folder = f"{sys}/devices/system/cpu/cpufreq"
    governors = {
        kernel_files.text(f"{folder}/{policy}/scaling_governor")
        for policy in kernel_files.names(folder)
        if policy.startswith("policy")
    }
    yield from _named("cpu_governor", ",".join(sorted(governors - {""})))
    given: dict[str, list[str]] = {}
    for word in kernel_files.text(f"{proc}/cmdline").split():
        flag, _, value = word.partition("=")
        if flag in _FLAGS:
            given.setdefault(flag, []).append(value or "on")
    for flag, values in sorted(given.items()):
        yield from _named(f"cmdline.{flag}", ",".join(values))


def _named(name: str, version: str) -> Iterator[tuple[str, str]]:
    if version:
        yield name, version.splitlines()[0][:_MOST]


def _chosen(text: str) -> str:
    """Return the word in brackets: the kernel lists all and marks the one in force."""
    _, _, rest = text.partition("[")
    return rest.partition("]")[0]
