"""Faults of ports, cables, switches and the starts that need them."""

from .scene import FaultScene, count, set_later


def port_down(scene: FaultScene) -> None:
    scene.at_nic()
    port = scene.host.ports[-1]
    set_later(scene, port, up=False)
    scene.at(lambda: count(port.errors, "link_downed", 1))


def flapping(scene: FaultScene) -> None:
    scene.at_nic()
    port = scene.host.ports[-1]

    def flap() -> None:
        count(port.errors, "link_downed", 1)
        port.up, port.slow = False, 25.0
        scene.cluster.loop.call(scene.cluster.loop.now + scene.amount(4.0, 1.5), recover)

    def recover() -> None:
        port.up, port.slow = True, 1.0

    scene.every(40.0, flap)


def bad_cable(scene: FaultScene) -> None:
    scene.at_nic()
    port = scene.host.ports[-1]
    set_later(scene, port, slow=scene.amount(3.5, 1.7))

    def corrupt() -> None:
        count(port.errors, "symbol_error", scene.amount(60.0, 12.0))
        count(port.errors, "port_rcv_errors", scene.amount(25.0, 4.0))

    scene.every(1.0, corrupt)


def bad_switch(scene: FaultScene) -> None:
    behind = [one for one in scene.cluster.hosts if one.switch == scene.host.switch]
    per_host = scene.cluster.plan.per_host
    at = [scene.cluster.hosts.index(one) * per_host for one in behind]
    scene.entity = {"type": "switch", "id": scene.host.switch, "host": None}
    scene.ranks = [rank for first in at for rank in range(first, first + per_host)]
    ports = [port for host in behind for port in host.ports]
    for port in ports:
        set_later(scene, port, slow=scene.amount(5.0, 2.0))

    def discard() -> None:
        for port in ports:
            count(port.errors, "port_xmit_discards", 150.0)

    scene.every(1.0, discard)


def congestion(scene: FaultScene) -> None:
    scene.at_job()
    ports = [port for host in scene.cluster.hosts for port in host.ports]
    for port in ports:
        set_later(scene, port, slow=scene.amount(4.0, 1.8))

    def mark() -> None:
        for port in ports:
            for kind, rate in (("ecn", 30_000.0), ("cnp", 9_000.0), ("xmit_wait", 4e6)):
                count(port.congestion, kind, scene.amount(rate, rate / 8.0))

    scene.every(1.0, mark)


def sockets(scene: FaultScene) -> None:
    scene.at_host()
    scene.onset = 12.0
    for port in scene.host.ports:
        port.slow = scene.amount(8.0, 3.0)
    text = "NCCL INFO Channel 00/0 : 1[1] -> 2[2] [send] via NET/Socket/0"
    scene.at(lambda: scene.process().log("nccl.net_socket", text))


def bootstrap(scene: FaultScene) -> None:
    scene.at_host()
    scene.onset = 1.0
    scene.cluster.init_blocked = True
    text = "NCCL WARN Bootstrap : no socket interface found"
    scene.at(lambda: scene.process().log("nccl.bootstrap_interface", text), 40.0)
