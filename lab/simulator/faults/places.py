"""Where a fault is, and so what is at fault: a job, a host, a device, its network port, a rank.

A fault is one of these with its id, its strength and what it does (`act`).
"""

from dataclasses import dataclass

from ....vocabulary import entities
from ....vocabulary.ranks import RankSet
from ..fabric import nic_id, port_of
from ..placement import RankSeats, device_id, device_index, host_name, rank_of, ranks_of_host
from ..shape import SimulatedCluster


@dataclass(frozen=True, slots=True)
class OfJob:
    """`onset`: when it begins to act, in seconds from the start of the recording."""

    onset: float

    def entity(self, cluster: SimulatedCluster, seats: RankSeats, job: str) -> entities.Entity:
        return whole_job(job, seats)


@dataclass(frozen=True, slots=True)
class OnHost:
    """A fault of one host, by its number."""

    onset: float
    host: int

    def entity(self, cluster: SimulatedCluster, seats: RankSeats, job: str) -> entities.Entity:
        return host(seats, self.host)


@dataclass(frozen=True, slots=True)
class AtPlace:
    """`place` is a rank's, or a device's, among the `slots` that each host has."""

    onset: float
    host: int
    place: int
    slots: int

    @property
    def slot(self) -> int:
        """Return the place's index in the cluster."""
        return device_index(self.host, self.place, self.slots)


@dataclass(frozen=True, slots=True)
class OnDevice(AtPlace):
    """A fault of one device."""

    def entity(self, cluster: SimulatedCluster, seats: RankSeats, job: str) -> entities.Entity:
        return gpu(seats, self.host, self.place)


@dataclass(frozen=True, slots=True)
class OnPort(AtPlace):
    """A fault of the network port that serves one device."""

    def entity(self, cluster: SimulatedCluster, seats: RankSeats, job: str) -> entities.Entity:
        return nic(cluster, seats, self.host, self.place)


@dataclass(frozen=True, slots=True)
class OnRank(AtPlace):
    """A fault of one rank."""

    def entity(self, cluster: SimulatedCluster, seats: RankSeats, job: str) -> entities.Entity:
        return rank(seats, self.host, self.place)


def whole_job(job: str, seats: RankSeats) -> entities.Entity:
    return entities.job(job, range(seats.world))


def rank(seats: RankSeats, host: int, place: int) -> entities.Entity:
    return entities.rank(rank_of(seats, host, place), host_name(host))


def gpu(seats: RankSeats, host: int, place: int) -> entities.Entity:
    user = rank_of(seats, host, place)
    return entities.gpu(device_id(host, place), host_name(host), (user,))


def host(seats: RankSeats, number: int) -> entities.Entity:
    return entities.host(host_name(number), ranks_of_host(seats, number))


def nic(cluster: SimulatedCluster, seats: RankSeats, number: int, place: int) -> entities.Entity:
    """Return the network port that serves a device, with all ranks that it serves."""
    port, name = port_of(cluster, place), host_name(number)
    served = [
        rank
        for rank in ranks_of_host(seats, number)
        if port_of(cluster, int(seats.place[rank])) == port
    ]
    return entities.Entity("nic", nic_id(name, port), name, RankSet(served))
