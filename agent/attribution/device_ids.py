"""What device plugins call devices, and which accelerator each of these names means.

Forms, by plugin: NVIDIA `GPU-<uuid>`, `MIG-<uuid>`, `MIG-GPU-<uuid>/<gi>/<ci>` (drivers before
470), `<uuid>::<n>` (time-slicing); GKE `nvidia0`, `nvidia0/gi3`, `nvidia0/gi3/vgpu1` and
`nvidia0/vgpu1`; NVIDIA's DRA driver `gpu-0`, `gpu-0-mig-9-4-4` and `gpu-0-mig-1g12gb-19-0`; Ascend
`Ascend910-3`; AMD and Hygon the PCI address. The number in `nvidia0` and `gpu-0` is that of the
file /dev/nvidia0, the minor number, which NVML's index need not be (the DRA driver: from 25.3 on).
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..devices import normal

_GKE = re.compile(r"nvidia(\d+)(?:/gi(\d+))?(?:/vgpu(\d+))?")
_OLD_MIG = re.compile(r"MIG-(GPU-[^/]+)/(\d+)/\d+")
_DRA = re.compile(r"gpu-(\d+)(?:-(mig-.+))?")
_NUMBERED = re.compile(r"(?:Ascend\w+|NPU|npu|DCU|dcu|MLU|mlu|xpu|XPU|mxgpu|mx)-?(\d+)")
_PCI = re.compile(r"(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]")
_UUID = re.compile(r"(?:GPU|MIG)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")

_VENDORS = {
    "nvidia.com": "nvidia",
    "amd.com": "amd",
    "huawei.com": "ascend",
    "hygon.com": "hygon",
    "cambricon.com": "cambricon",
    "metax-tech.com": "metax",
    "kunlunxin.com": "kunlun",
    "baidu.com": "kunlun",
}


@dataclass(frozen=True, slots=True)
class DeviceReference:
    """Which device a name means: by id, index, minor number or PCI address; then its part."""

    hw_id: str = ""
    index: int | None = None
    minor: int | None = None
    pci: str = ""
    instance: str = ""
    """MIG's GPU instance, or what a driver calls the part."""
    replica: str = ""


@dataclass(frozen=True, slots=True)
class DeviceIdentity:
    """One accelerator, or a part of one, as its reader describes it."""

    hw_id: str
    index: int
    vendor: str = "nvidia"
    pci: str = ""
    parent: str = ""
    partition: str = ""
    minor: int | None = None

    @property
    def part(self) -> str:
        """Return "1g.10gb/7" of a part, profile and instance, "" of a whole device."""
        if not self.parent:
            return self.partition
        return "/".join(part(self.hw_id, self.parent, self.partition))

    @property
    def instance(self) -> str:
        """Return the GPU instance of a part."""
        return part(self.hw_id, self.parent, self.partition)[1]


def meant(device: str, cdi: Sequence[str] = ()) -> DeviceReference:
    """Return what a name means; a name of no known form is taken for the device's own id."""
    text, _, replica = device.partition("::")
    if found := _OLD_MIG.fullmatch(text):
        return DeviceReference(hw_id=found[1], instance=found[2], replica=replica)
    if found := _GKE.fullmatch(text):
        return DeviceReference(
            minor=int(found[1]), instance=found[2] or "", replica=found[3] or replica
        )
    for name in cdi:
        if named := _UUID.search(name):
            return DeviceReference(hw_id=named[0])
    if found := _DRA.fullmatch(text):
        return DeviceReference(minor=int(found[1]), instance=found[2] or "", replica=replica)
    if found := _NUMBERED.fullmatch(text):
        return DeviceReference(index=int(found[1]), replica=replica)
    if _PCI.fullmatch(text):
        return DeviceReference(pci=normal(text), replica=replica)
    return DeviceReference(hw_id=text, replica=replica)


def part(hw_id: str, parent: str, partition: str) -> tuple[str, str]:
    """Return (profile, instance) of a part, "" for what is not reported.

    Readers say both in `partition` ("1g.10gb/7"); exporters of parts without an id of their own say
    the profile there, and the instance behind the parent's id ("GPU-<uuid>/7").
    """
    profile, slash, instance = partition.rpartition("/")
    if slash:
        return profile, instance
    if parent and hw_id.startswith(f"{parent}/"):
        return partition, hw_id[len(parent) + 1 :]
    return ("", partition) if partition.isdecimal() else (partition, "")


def vendor(resource: str) -> str:
    """Return the vendor of an extended resource or a DRA driver, "" for one we do not know."""
    domain = resource.partition("/")[0]
    return next(
        (name for end, name in _VENDORS.items() if domain == end or domain.endswith(f".{end}")), ""
    )


def resolve(
    this: DeviceReference, known: Iterable[DeviceIdentity], *, maker: str = ""
) -> tuple[str, str]:
    """Return (id of the accelerator or the part, partition), the id "" when nothing fits.

    A part of a device that no reader describes is given as its device and the instance's name.
    """
    if this.hw_id and not this.instance:
        return this.hw_id, next((one.part for one in known if one.hw_id == this.hw_id), "")
    mine = [one for one in known if not maker or one.vendor == maker]
    whole = next((one for one in mine if not one.parent and _fits(this, one)), None)
    if whole is None:
        return this.hw_id, this.instance
    if not this.instance:
        return whole.hw_id, whole.part
    for one in mine:
        if one.parent == whole.hw_id and one.instance == this.instance:
            return one.hw_id, one.part
    return whole.hw_id, this.instance


def _fits(this: DeviceReference, one: DeviceIdentity) -> bool:
    if this.hw_id:
        return one.hw_id == this.hw_id
    if this.pci:
        return one.pci == this.pci
    if this.minor is not None:
        return this.minor == (one.index if one.minor is None else one.minor)
    return one.index == this.index
