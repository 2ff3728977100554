"""The series of every network port: state, bytes, errors, congestion, where it is plugged in."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ....vocabulary.samples import Scalar, attributes
from ..fabric import device_name
from ..placement import rail_switch
from ..site import ConditionHistory, SimulatedSite
from ..training import SimulatedAttempt
from . import SimulatedSeries
from .resources import of_node

Array = NDArray[np.float64]
LINK = 50e9
"""Bytes a second of a port: 400 Gbit/s."""
STEP_BYTES = 1.5e9
"""Bytes that a rank sends to other hosts in a step."""
RATES = {
    "symbol_error": "symbol",
    "port_rcv_errors": "receive",
    "port_xmit_discards": "discards",
    "local_ack_timeout_err": "timeouts",
}
"""Error counters and the rate of the ports' conditions that each one counts."""
TOTALS = {"link_downed": "downs", "link_error_recovery": "recoveries"}
QUIET = ("local_link_integrity_errors", "out_of_sequence", "roce_slow_restart")
_CONGESTION = {"ecn": "marks", "cnp": "marks", "xmit_wait": "waits"}


def series(attempts: Sequence[SimulatedAttempt], site: SimulatedSite) -> list[SimulatedSeries]:
    found: list[SimulatedSeries] = []
    for host in range(site.cluster.hosts):
        history = site.history(host, site.reporting.node)
        if len(history.at):
            sent = _sent(attempts, site, host, history)
            for port in range(site.cluster.nics):
                found += _port(site, host, port, history, sent[:, port])
            found += _management(site, host, history, sent[:, -1])
    return found


def _port(
    site: SimulatedSite, host: int, port: int, history: ConditionHistory, sent: Array
) -> list[SimulatedSeries]:
    cluster, reporting, at = site.cluster, site.reporting, history.at
    random = np.random.default_rng([site.seed, 22, host, port])
    resource = of_node(host, cluster.name, site.switch(host))
    who: dict[str, Scalar] = {"device": device_name(port), "port": "1"}
    found: list[SimulatedSeries] = []

    def add(metric: str, value: Array, every: int = 1, **pairs: Scalar) -> None:
        if reporting.shows(metric):
            named = attributes({**who, **pairs})
            found.append(
                SimulatedSeries(host, resource, metric, named, at[::every], value[::every])
            )

    def errors(value: Array, kind: str) -> None:
        add("hw.network.errors", value, 1, **{"error.type": kind})

    def rate(name: str) -> Array:
        values: Array = history.of("ports", name)[:, host, port].astype(float)
        return values

    up = rate("up")
    add("hw.network.up", up)
    add("hw.network.bandwidth.limit", np.full(len(at), LINK))
    near = port * cluster.slots // cluster.nics if cluster.gpus else ""
    add(
        "hw.network.info",
        np.ones(len(at)),
        max(int(30 / reporting.node), 1),
        rail=str(port),
        switch=rail_switch(cluster, host, port),
        switch_port=str(host % cluster.hosts_per_switch + 1),
        gpu=near,
    )
    for direction in ("receive", "transmit"):
        add("hw.network.io", np.round(sent), direction=direction)
    # Counters count since the host started, which was before the recording.
    for error, name in RATES.items():
        grown = random.poisson(np.maximum(rate(name), 0) * reporting.node)
        total = int(random.integers(0, 4)) + np.cumsum(grown)
        errors(total.astype(float), error)
    for error, name in TOTALS.items():
        errors(int(random.integers(0, 3)) + rate(name), error)
    for error in QUIET:
        errors(np.zeros(len(at)), error)
    for kind, name in _CONGESTION.items():
        grown = random.poisson(np.maximum(rate(name), 0) * up * reporting.node)
        base = int(random.integers(0, 100_000))
        add("hw.network.congestion", (base + np.cumsum(grown)).astype(float), kind=kind)
    return found


def _management(
    site: SimulatedSite, host: int, history: ConditionHistory, sockets: Array
) -> list[SimulatedSeries]:
    """Return the series of the management interface, which carries what falls back to sockets."""
    random = np.random.default_rng([site.seed, 23, host])
    resource = of_node(host, site.cluster.name, site.switch(host))
    at, found = history.at, list[SimulatedSeries]()
    own = np.cumsum(random.uniform(2e5, 8e5, len(at)) * site.reporting.node)

    def add(metric: str, value: Array, **pairs: Scalar) -> None:
        if site.reporting.shows(metric):
            found.append(SimulatedSeries(host, resource, metric, attributes(pairs), at, value))

    for direction in ("receive", "transmit"):
        add("system.network.io", np.round(own + sockets), device="eth0", direction=direction)
    resent = random.poisson(0.2 + 1e-7 * np.diff(sockets, prepend=sockets[:1]))
    add("system.network.tcp.retransmits", np.cumsum(resent).astype(float))
    return found


def _sent(
    attempts: Sequence[SimulatedAttempt], site: SimulatedSite, host: int, history: ConditionHistory
) -> Array:
    """Return the bytes sent so far through each port of a host, and through sockets (last)."""
    cluster, at = site.cluster, history.at
    sent = np.zeros((len(at), cluster.nics + 1))
    flow = np.zeros((len(at), cluster.nics))
    for attempt in attempts:
        seats = attempt.seats
        if (seats.host == seats.host[0]).all():
            continue
        for rank in np.flatnonzero(seats.host == host).tolist():
            ends = np.array([row[rank] for row in attempt.steps.end])
            port = int(seats.place[rank]) * cluster.nics // cluster.slots
            flow[:, port] += STEP_BYTES * np.searchsorted(ends, at)
    moved = np.diff(flow, axis=0, prepend=flow[:1])
    up = history.of("ports", "up")[:, host, :].astype(bool)
    sockets = history.of("ports", "sockets")[:, host].astype(bool)
    for port in range(cluster.nics):
        # What a port that is down cannot carry leaves by its neighbour.
        other = (port + 1) % cluster.nics
        sent[:, port] += np.where(up[:, port] & ~sockets, moved[:, port], 0)
        sent[:, other] += np.where(~up[:, port] & ~sockets, moved[:, port], 0)
    sent[:, -1] = np.where(sockets, moved.sum(axis=1), 0)
    totals: Array = np.cumsum(sent, axis=0)
    return totals
