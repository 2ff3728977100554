"""Who owns which partition: one document, changed by compare-and-set, so every change is whole.

A partition moves with a new epoch. Where its owner lives, it is handed over: `next` names who is to
have it, and the owner gives it when its state is kept. Where the owner is gone, it is taken.
"""

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class ClusterMember:
    """A collector: where the others reach it, and a count that it raises as long as it lives."""

    address: str
    beat: int = 0


@dataclass(frozen=True, slots=True)
class PartitionLease:
    """A partition's owner ("": none yet), the epoch of its ownership, and who is to follow."""

    owner: str = ""
    epoch: int = 0
    next: str = ""


@dataclass(frozen=True, slots=True)
class PartitionAssignment:
    """All collectors by name, and the lease of each partition."""

    members: dict[str, ClusterMember] = field(default_factory=dict)
    leases: tuple[PartitionLease, ...] = ()

    def pack(self) -> bytes:
        """Return the document."""
        return json.dumps(
            {
                "members": {name: [row.address, row.beat] for name, row in self.members.items()},
                "leases": [[row.owner, row.epoch, row.next] for row in self.leases],
            },
            separators=(",", ":"),
        ).encode()

    @classmethod
    def unpack(cls, body: bytes) -> "PartitionAssignment":
        """Return what `pack` wrote."""
        found = json.loads(body)
        return cls(
            {
                name: ClusterMember(str(row[0]), int(row[1]))
                for name, row in found["members"].items()
            },
            tuple(PartitionLease(str(row[0]), int(row[1]), str(row[2])) for row in found["leases"]),
        )

    def owned(self, name: str) -> dict[int, int]:
        """Return the epoch of each partition that a collector owns."""
        return {number: row.epoch for number, row in enumerate(self.leases) if row.owner == name}

    def leaving(self, name: str) -> set[int]:
        """Return the partitions that a collector is to hand over."""
        return {number for number, row in enumerate(self.leases) if row.owner == name and row.next}

    def address(self, partition: int) -> str:
        """Return where the owner of a partition is, "" where it has none."""
        member = self.members.get(self.leases[partition].owner)
        return "" if member is None else member.address

    def beaten(self, name: str, address: str) -> "PartitionAssignment":
        """Return the same with one more sign of a collector."""
        before = self.members.get(name)
        beat = 1 if before is None else before.beat + 1
        return replace(self, members={**self.members, name: ClusterMember(address, beat)})

    def handed(self, name: str, given: Iterable[int], *, floor: int) -> "PartitionAssignment":
        """Return the same once a collector has let go of partitions."""
        leases = list(self.leases)
        for number in given:
            row = leases[number]
            if row.owner == name:
                leases[number] = PartitionLease(row.next, _later(row.epoch, floor))
        return replace(self, leases=tuple(leases))

    def balanced(
        self, live: Collection[str], partitions: int, *, floor: int
    ) -> "PartitionAssignment":
        """Return the same with every partition owned by, or on its way to, some live collector.

        Epochs rise, and are `floor` at least. Loads differ by one partition at most; nothing moves
        that need not.
        """
        members = {name: row for name, row in self.members.items() if name in live}
        if not members:
            return self
        leases = [*self.leases, *[PartitionLease()] * (partitions - len(self.leases))][:partitions]
        load = dict.fromkeys(sorted(members), 0)
        for number, row in enumerate(leases):
            if row.next and row.next not in members:
                row = leases[number] = replace(row, next="")
            if row.owner in members:
                load[row.next or row.owner] += 1
        for number, row in enumerate(leases):
            if row.owner not in members:
                taker = row.next or min(load, key=lambda name: (load[name], name))
                load[taker] += 1
                leases[number] = PartitionLease(taker, _later(row.epoch, floor))
        while True:
            most = max(load, key=lambda name: (load[name], name))
            least = min(load, key=lambda name: (load[name], name))
            if load[most] - load[least] <= 1:
                break
            free = [one for one, row in enumerate(leases) if row.owner == most and not row.next]
            if not free:
                break  # those on their way there move on once they are there
            number = free[0]
            leases[number] = replace(leases[number], next=least)
            load[most] -= 1
            load[least] += 1
        return PartitionAssignment(members, tuple(leases))


def _later(epoch: int, floor: int) -> int:
    return max(epoch + 1, floor)


class LivenessSigns:
    """Which collectors live, counted in one's own successful signs: no clock is compared.

    A collector that gives no new sign while one gives so many oneself is gone. While the bucket
    takes no signs from anybody, nobody is.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._seen: dict[str, tuple[int, int]] = {}
        """By collector: the last new sign, and how many of one's own were given since."""

    def live(self, assignment: PartitionAssignment, own: str) -> set[str]:
        """Return who lives, oneself included."""
        return {
            name
            for name in assignment.members
            if name == own or self._seen.get(name, (0, 0))[1] < self._most
        } | {own}

    def given(self, assignment: PartitionAssignment) -> None:
        """Count a sign of one's own, and note the others'."""
        self._seen = {
            name: (row.beat, self._seen[name][1] + 1)
            if name in self._seen and self._seen[name][0] == row.beat
            else (row.beat, 0)
            for name, row in assignment.members.items()
        }
