"""CPU time that the ranks of a host do not get: busy neighbours, or a quota."""

from .contract import FaultMechanism

NEIGHBOURS = FaultMechanism(
    name="busy-neighbours",
    fault="host.cpu_contention",
    at="host",
    neighbours=True,
    text="busy neighbours on the CPUs of {host}",
)

QUOTA = FaultMechanism(
    name="cpu-quota",
    fault="host.cpu_contention",
    at="host",
    quota=0.08,
    text="the ranks of {host} get a CPU quota: 8 % of one CPU together",
)
"""A rank computes for about 10 of 60 ms: two of them need a third of a CPU, a quarter where others
make them wait for it as well."""
