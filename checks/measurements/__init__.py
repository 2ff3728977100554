"""What the child process of a check runs: one function a check, its readings as they were taken.

Each takes an order and returns what it measured, a row a device. What cannot be measured here is a
row that says why. Nothing here compares or judges.

In: an order. Out: measured rows. Imports: formats, vocabulary; what stands beside, one file below
another.
"""

from collections.abc import Callable, Mapping, Sequence

from . import (
    buses,
    clocks,
    collectives,
    copies,
    cores,
    devices,
    disks,
    kernel_lines,
    matrices,
    names,
    ports,
    stacks,
)  # fmt: skip
from .rows import CheckOrder, MeasuredRow

MEASUREMENTS: Mapping[str, Callable[[CheckOrder], Sequence[MeasuredRow]]] = {
    "clock": clocks.kernel_clock,
    "bus": buses.present,
    "device_lanes": devices.lanes,
    "device_power": devices.power,
    "device_heat": devices.heat,
    "device_others": devices.others,
    "ports": ports.down,
    "port_errors": ports.errors,
    "kernel_firmware": kernel_lines.firmware,
    "kernel_lost": kernel_lines.lost,
    "device_answers": devices.answers,
    "stack_saving": stacks.saving,
    "stack_gathering": stacks.gathering,
    "stack_loading": stacks.loading,
    "stack_fetching": stacks.fetching,
    "stack_collecting": stacks.collecting,
    "dns": names.resolution,
    "rendezvous": names.connection,
    "cpu": cores.hashing,
    "local_disk": disks.local_disk,
    "shared_disk": disks.shared_disk,
    "arithmetic": matrices.arithmetic,
    "matmul": matrices.products,
    "memory_bandwidth": copies.within_device,
    "host_device_copy": copies.to_and_from_host,
    "peer_copy": copies.between_devices,
    "all_reduce": collectives.over_all,
    "all_reduce_halves": collectives.over_halves,
    "all_reduce_pair": collectives.with_peer,
}
"""By the check's name in the vocabulary."""
