"""Faults of ports, cables, switches and transports: a function a fault, as faults.toml says."""

import numpy as np

from ..effects import StepEffect
from ..situation import CaseSituation
from . import endings


def nic_down(case: CaseSituation) -> None:
    rank, device = _port(case)
    host = case.layout.host_of(rank)
    _blame_nic(case, rank, device)
    case.edit("hw.network.up", "set", 0.0, host=host, of={"device": device})
    case.edit(
        "hw.network.errors",
        "add",
        1.0,
        host=host,
        of={"device": device, "error.type": "link_downed"},
    )
    case.say(
        "network.link",
        rank,
        case.onset + 0.5,
        {"device": device, "port": 1, "state": "down", "text": f"{device}: Link DOWN"},
        of_job=False,
    )
    if case.weak:
        _slower(case, rank, case.amount((0.3, 0.6), (0.15, 0.3)), groups=True)
    else:
        case.log(rank, case.onset + 1.0, "port_error", device=device)
        endings.hang(case, (rank,), "transport", case.onset)


def link_flap(case: CaseSituation) -> None:
    rank, device = _port(case)
    host = case.layout.host_of(rank)
    _blame_nic(case, rank, device)
    at = case.onset
    while at < case.end:
        down = case.amount((3.0, 9.0), (1.0, 2.5))
        case.edit(
            "hw.network.up", "set", 0.0, host=host, begin=at, end=at + down, of={"device": device}
        )
        for kind in ("link_downed", "symbol_error"):
            case.edit(
                "hw.network.errors",
                "add",
                1.0,
                host=host,
                begin=at,
                of={"device": device, "error.type": kind},
            )
        for state, when in (("down", at), ("up", at + down)):
            case.say(
                "network.link",
                rank,
                when,
                {
                    "device": device,
                    "port": 1,
                    "state": state,
                    "text": f"{device}: Link {state.upper()}",
                },
                of_job=False,
            )
        case.step_effects.append(
            StepEffect("network", case.everybody, at - case.pace.step, at, seconds=down)
        )
        at += float(case.rng.uniform(30.0, 70.0))


def cable_errors(case: CaseSituation) -> None:
    rank, device = _port(case)
    host = case.layout.host_of(rank)
    _blame_nic(case, rank, device)
    rate = case.amount((40.0, 900.0), (4.0, 15.0))
    for kind, share in (
        ("symbol_error", 1.0),
        ("port_rcv_errors", 0.6),
        ("local_ack_timeout_err", 0.05),
    ):
        case.edit(
            "hw.network.errors",
            "rate",
            rate * share,
            host=host,
            of={"device": device, "error.type": kind},
        )
    _slower(case, rank, case.amount((0.25, 0.6), (0.08, 0.14)), groups=True)


def switch(case: CaseSituation) -> None:
    names = sorted({host.switch for host in case.layout.hosts})
    name = names[int(case.rng.integers(len(names)))]
    ranks = tuple(
        one.rank for one in case.layout.ranks if case.layout.hosts[one.host].switch == name
    )
    case.blame("switch", name, ranks=ranks)
    for host in case.layout.hosts:
        if host.switch == name:
            rate = case.amount((150.0, 900.0), (12.0, 40.0))
            case.edit(
                "hw.network.errors",
                "rate",
                rate,
                host=host.name,
                of={"error.type": "port_xmit_discards"},
            )
            case.edit(
                "hw.network.errors",
                "rate",
                rate / 30.0,
                host=host.name,
                of={"error.type": "local_ack_timeout_err"},
            )
    lost = case.amount((0.35, 0.8), (0.12, 0.2))
    case.step_effects.append(
        StepEffect(
            "network", ranks, case.onset, case.end, seconds=lost * case.pace.step, spread=0.15
        )
    )
    inside = set(ranks)
    for group in case.layout.groups:
        if (
            inside & set(group.ranks)
            and len({case.layout.ranks[one].host for one in group.ranks}) > 1
        ):
            case.edit(
                "collective.bus_bandwidth",
                "scale",
                1.0 / (1.0 + 3.0 * lost),
                of={"group": group.name},
            )


def congestion(case: CaseSituation) -> None:
    case.blame_job()
    for kind, rate in (("cnp", 3000.0), ("ecn", 4500.0), ("xmit_wait", 90_000.0)):
        case.edit(
            "hw.network.congestion",
            "rate",
            rate * case.amount((1.0, 3.0), (0.3, 0.6)),
            of={"kind": kind},
        )
    lost = case.amount((0.3, 0.7), (0.1, 0.16))
    case.step_effects.append(
        StepEffect(
            "network",
            case.everybody,
            case.onset,
            case.end,
            seconds=lost * case.pace.step,
            spread=0.35,
        )
    )
    case.edit("collective.bus_bandwidth", "scale", 1.0 / (1.0 + 3.0 * lost))


def transport_fallback(case: CaseSituation) -> None:
    rank = case.a_rank()
    host = case.layout.ranks[rank].host
    name = case.layout.hosts[host].name
    case.blame("host", name, host=name, ranks=case.on_host_of(rank), onset=case.begin)
    for one in case.on_host_of(rank):
        case.log(one, case.first_step_at - 3.0, "no_infiniband")
    case.edit("hw.network.io", "set", 7e14, host=name, begin=0.0)
    _slower(case, rank, case.amount((0.8, 2.0), (0.3, 0.5)), groups=True, begin=0.0)


def bootstrap_failed(case: CaseSituation) -> None:
    rank = case.a_rank()
    host = case.layout.ranks[rank].host
    name = case.layout.hosts[host].name
    case.first_step_at = case.end + 1.0
    case.blame("host", name, host=name, ranks=case.on_host_of(rank), onset=case.begin)
    for one in case.on_host_of(rank):
        at = case.begin + 40.0 + 0.1 * one
        case.log(one, at, "no_route" if case.weak else "no_interface")
        if not case.weak:
            endings.leave(case, one, at + 0.6)
    for other in case.everybody:
        if other not in case.on_host_of(rank):
            case.log(other, case.begin + 320.0, "clients_missing")
            endings.leave(case, other, case.begin + 321.0)


def _port(case: CaseSituation) -> tuple[int, str]:
    rank = case.a_rank()
    local = case.layout.ranks[rank].local
    return rank, case.layout.hosts[case.layout.ranks[rank].host].nics[local // 2]


def _blame_nic(case: CaseSituation, rank: int, device: str) -> None:
    host = case.layout.host_of(rank)
    first = int(case.layout.on_host(case.layout.ranks[rank].host)[0])
    ranks = tuple(first + 2 * int(device.removeprefix("mlx5_")) + one for one in (0, 1))
    case.blame("nic", f"{host}/{device}:1", host=host, ranks=ranks)


def _slower(
    case: CaseSituation, rank: int, lost: float, *, groups: bool, begin: float | None = None
) -> None:
    """Let collectives take a share of a step more for all; the rank's groups lose bandwidth."""
    at = case.onset if begin is None else begin
    case.step_effects.append(
        StepEffect(
            "network", case.everybody, at, np.inf, seconds=lost * case.pace.step, spread=0.15
        )
    )
    for group in case.layout.groups:
        spans = len({case.layout.ranks[one].host for one in group.ranks}) > 1
        if groups and rank in group.ranks and spans:
            value = 1.0 / (1.0 + 3.0 * lost)
            case.edit(
                "collective.bus_bandwidth", "scale", value, begin=at, of={"group": group.name}
            )
