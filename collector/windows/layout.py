"""Where an attempt runs, as arrays: kept with it until something of it moves."""

from dataclasses import dataclass

from ...detectors.window import Ints
from ...vocabulary.topology import JobTopology


@dataclass(frozen=True, slots=True)
class TopologyLayout:
    """A topology, and what windows take of it as arrays.

    ranks, host_of, role_of, pids: [rows]; host_ids: [hosts], numbers of Hosts.
    """

    versions: tuple[int, ...]
    topology: JobTopology
    ranks: Ints
    host_of: Ints
    role_of: Ints
    pids: Ints
    host_ids: Ints
