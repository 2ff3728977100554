"""Series that carry facts and no reading: where a rank runs, a group's ranks, a NIC."""

import contextlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ...formats.otlp.series import SeriesKey
from ...vocabulary.ranks import RankSet
from ...vocabulary.samples import Attributes, Scalar
from ...vocabulary.topology import UNKNOWN, NicPort
from .attempt import GroupInfo, JobAttempt
from .attempts import SAME_START_SECONDS
from .attributes import whole
from .descriptions import DeviceDescriptions

_COORDINATES = ("dp", "tp", "pp", "ep")


def take_info(attempt: JobAttempt, row: int, pairs: Mapping[str, Scalar]) -> None:
    """Take where the rank of a row runs, from the attributes of `training.rank.info`."""
    placements = attempt.placements
    pid, hw_id = whole(pairs.get("pid")), pairs.get("hw.id")
    started = whole(pairs.get("process.start_time"))
    if started is not None:
        if attempt.derived and started < attempt.started_at - SAME_START_SECONDS < np.inf:
            return  # the process that the attempt took the place of, reported once more
        attempt.started_at = min(attempt.started_at, float(started))
    elif attempt.derived and 0 <= placements.pids[row] != (pid if pid is not None else -1):
        attempt.new_pids.setdefault(row, attempt.last_at)
    placements.local_ranks[row] = _number(pairs.get("local_rank"))
    placements.pids[row] = UNKNOWN if pid is None else pid
    placements.started[row] = UNKNOWN if started is None else started
    if not pairs.keys().isdisjoint(_COORDINATES):
        for name in _COORDINATES:
            getattr(placements, name)[row] = _number(pairs.get(name))
    placements.hw_ids[row] = str(hw_id) if hw_id else None
    size = whole(pairs.get("world_size")) or 0
    attempt.world_size = max(attempt.world_size, size)
    attempt.newest_world_size = size or attempt.newest_world_size


def _number(value: Scalar | None) -> int:
    number = whole(value)
    return UNKNOWN if number is None else number


def take_group(attempt: JobAttempt, pairs: Mapping[str, Scalar], *, most: int) -> None:
    """Take a communication group, from the attributes of `collective.group.info`.

    most: ranks that it may have; one with more keeps the members that it had.
    """
    name = pairs.get("group")
    if not isinstance(name, str):
        return
    held = attempt.groups.setdefault(name, GroupInfo(name.partition(":")[0]))
    held.kind = str(pairs.get("kind", held.kind))
    held.description = str(pairs.get("desc", ""))
    ranks: Any = pairs.get("ranks")
    if ranks is not None:
        with contextlib.suppress(ValueError):  # unreadable: who is in it stays as it was known
            held.ranks = RankSet.parse(str(ranks), most=most)
    attempt.version += 1


def take_devices(held: DeviceDescriptions, described: Iterable[SeriesKey]) -> None:
    """Take models and indices of devices, from the attributes of `hw.gpu.info`."""
    for one in described:
        pairs = dict(one.attributes)
        device, index = str(pairs.get("hw.id") or ""), whole(pairs.get("gpu"))
        if device and pairs.get("hw.model"):
            held.models[device] = str(pairs["hw.model"])
        if device and index is not None:
            held.indices[device] = index


def take_nic(held: dict[str, NicPort], host: str, attributes: Attributes) -> None:
    """Take a port of a host, from the attributes of `hw.network.info`."""
    pairs = dict(attributes)

    def text(name: str) -> str | None:
        return str(pairs[name]) if pairs.get(name) not in (None, "") else None

    nic = NicPort(host, str(pairs.get("device", "")), str(pairs.get("port", "")),
              text("rail"), text("switch"), text("gpu"))  # fmt: skip
    held[nic.id] = nic
