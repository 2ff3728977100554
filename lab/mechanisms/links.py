"""A slow link between the hosts: a user-space proxy that delays what their ranks send."""

from .contract import FaultMechanism

SLOW = FaultMechanism(
    name="slow-link",
    fault="network.congestion",
    at="job",
    link=True,
    trainers=("numpy",),
    answers=("network.congestion", "unknown"),
    text="what the ranks of {host} and the others send each other takes 30 ms longer each way",
)
"""In the numpy job only, whose ranks meet at one port. No port of a network card is involved, so
that nothing can tell congestion from another slowness of the network: that collectives themselves
are slower, at an unknown cause and at nobody's rank, is the right answer too."""
