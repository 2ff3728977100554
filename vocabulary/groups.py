"""Communication groups: one name that every member arrives at by itself, and who is in them."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from .ranks import RankSet
from .samples import Sample, Scalar, attributes

_KINDS = (
    ("EXPERT", "ep"),
    ("TENSOR", "tp"),
    ("PIPELINE", "pp"),
    ("DATA_PARALLEL", "dp"),
    ("MESH_EP", "ep"),
    ("MESH_TP", "tp"),
    ("MESH_PP", "pp"),
    ("MESH_DP", "dp"),
    ("MESH_DATA", "dp"),
    ("MESH_FSDP", "dp"),
    ("MESH_REPLICATE", "dp"),
    ("MESH_SHARD", "dp"),
    ("MESH_PIPE", "pp"),
    ("DEFAULT_PG", "world"),
)
"""What a description holds, in upper case, and the kind it stands for; the first match wins.

Megatron writes TENSOR_MODEL_PARALLEL_GROUP and the like, torch's DeviceMesh mesh_<dimension>, and
torch itself default_pg. An expert group inside a data-parallel one is named after the experts.
"""

COMMUNICATOR = "nccl "
"""How the description of a group begins that is a communicator of NCCL."""

PLACED_REPLICAS = "placed:"
"""How the name of ranks begins that have distributed tensors alike, and may read the same data."""


@dataclass(frozen=True, slots=True)
class ProcessGroup:
    """One group: its description and the global ranks in it, ascending."""

    desc: str
    ranks: tuple[int, ...]

    @property
    def kind(self) -> str:
        """Return dp, tp, pp, ep, world or other."""
        labels = self.desc.upper()
        return next((kind for mark, kind in _KINDS if mark in labels), "other")

    @property
    def name(self) -> str:
        """Return `<kind>:<hash of ranks and description>`, the same on every member.

        torch's own group names are numbers local to a process, so they cannot serve.
        """
        text = f"{RankSet(self.ranks)}|{self.desc}"
        return f"{self.kind}:{hashed(text)}"

    def info(self, at: float) -> Sample:
        """Return the sample that describes the group, `collective.group.info`."""
        labels: dict[str, Scalar] = {
            "group": self.name,
            "kind": self.kind,
            "desc": self.desc,
            "size": len(self.ranks),
            "ranks": str(RankSet(self.ranks)),
        }
        return Sample("collective.group.info", 1.0, at, attributes(labels))


def world(size: int) -> ProcessGroup:
    """Return the group of all ranks, as torch describes it."""
    return ProcessGroup("default_pg", tuple(range(size)))


def communicator_group(name: str, *, whole: bool) -> str:
    """Return the group of an NCCL communicator, named by NCCL's own hash of it.

    The same for all that report it: RAS, Inspector, log lines. `whole`: it is that of all ranks.
    torch's groups have other names and number their collectives themselves: the collector joins
    both by their members.
    """
    digits = name.lower().removeprefix("0x").lstrip("0")
    known = digits if 0 < len(digits) <= 32 and digits.isalnum() else hashed(name)
    return f"{'world' if whole else 'other'}:{known}"


def communicator_info(group: str, name: str, ranks: Iterable[int], at: float) -> Sample:
    """Return the sample that describes a communicator, `collective.group.info`."""
    members = RankSet(ranks)
    labels: dict[str, Scalar] = {
        "group": group,
        "kind": group.partition(":")[0],
        "desc": f"{COMMUNICATOR}{name[:64]}",
        "size": len(members),
        "ranks": str(members),
    }
    return Sample("collective.group.info", 1.0, at, attributes(labels))


def hashed(text: str) -> str:
    """Return a short digest of a description."""
    return hashlib.blake2s(text.encode(), digest_size=4).hexdigest()
