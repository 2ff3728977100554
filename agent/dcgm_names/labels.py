"""dcgm-exporter's labels: what stands between the braces, for a device and each of its holders."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...vocabulary.samples import Scalar
from ..attribution import DeviceHolder
from ..attribution.device_ids import part

Pairs = Mapping[str, Scalar]


@dataclass(frozen=True, slots=True)
class LabelBlock:
    """The labels of one series: before, the name of the host in its place, and after.

    Labels of a field's own (`xid`, `clock_event`) come between host and holder, as in
    dcgm-exporter's template.
    """

    device: str
    version: str
    holder: str
    pod_uid: str = ""
    """Whose share of a shared device the series is to show, "" for all of it."""

    def text(self, host: str, own: str = "") -> str:
        """Return the labels, with the host's label and a field's own ones put in."""
        return f"{self.device},{host}{self.version}{own}{self.holder}"


def host(name: str, *, old: bool, new: bool) -> str:
    """Return the host's label as the generations write it: `Hostname` to 4.8, then `hostname`."""
    spelt = [*(["Hostname"] if old else []), *(["hostname"] if new else [])]
    return ",".join(f'{label}="{escaped(name)}"' for label in spelt)


def blocks(
    info: Pairs, parent: Pairs, holders: Sequence[DeviceHolder], *, pod_uid: bool
) -> list[LabelBlock]:
    """Return a block a holder of a device, one without a holder where there is none.

    `info` is what `hw.gpu.info` has of the device, `parent` of the device it is a part of: parts
    carry their parent's identity, and what they are in GPU_I_PROFILE and GPU_I_ID.
    """
    whole = parent or info
    described = part(str(info.get("hw.id")), str(info.get("hw.parent")), _text(info, "partition"))
    found: dict[LabelBlock, None] = {}
    for holder in holders or (DeviceHolder(),):
        profile, instance = described if parent else part("", "", holder.partition)
        device = [
            ("gpu", whole.get("gpu", "")),
            ("UUID", whole.get("hw.id", "")),
            ("pci_bus_id", _address(str(whole.get("pci.bus_id", "")))),
            ("device", f"nvidia{whole.get('gpu', '')}"),
            ("modelName", whole.get("hw.model", "")),
        ]
        if profile or instance:
            device += [("GPU_I_PROFILE", profile), ("GPU_I_ID", instance)]
        version = whole.get("hw.driver_version")
        held = [
            ("container", holder.container),
            ("hpc_job", holder.slurm_job),
            ("namespace", holder.namespace),
            ("pod", holder.pod),
            ("pod_uid", holder.pod_uid if pod_uid else ""),
            ("vgpu", holder.replica),
        ]
        block = LabelBlock(
            device=",".join(f'{name}="{escaped(value)}"' for name, value in device),
            version=f',DCGM_FI_DRIVER_VERSION="{escaped(version)}"' if version else "",
            holder="".join(f',{name}="{escaped(value)}"' for name, value in held if value),
            pod_uid=holder.pod_uid if len(holders) > 1 and not holder.partition else "",
        )
        found[block] = None
    return list(found)


def escaped(value: Scalar) -> str:
    """Return a label's value as the text format writes it."""
    return str(value).replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _text(pairs: Pairs, name: str) -> str:
    return str(pairs.get(name, ""))


def _address(text: str) -> str:
    """Return a PCI address as NVML writes it: eight digits of domain, in capitals."""
    domain, colon, rest = text.partition(":")
    return f"{domain.zfill(8)}:{rest}".upper() if colon else text
