"""Addresses to listen on as operators write them: `:9470`, `127.0.0.1:9470`, `[::1]:9470`."""

import errno
import socket


def parse(text: str) -> tuple[str, int]:
    """Return host ("" for every address) and port; raises ValueError naming the fix."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise ValueError("write HOST:PORT or :PORT")
    if ":" in host and not (host.startswith("[") and host.endswith("]")):
        raise ValueError("write an IPv6 address in brackets, such as [::1]:9470")
    return host.strip("[]"), int(port)


def bound(text: str, kind: socket.SocketKind) -> socket.socket:
    """Return a socket bound to an address, over both IP versions when no host is given.

    Raises OSError, which says why, when the address cannot be had.
    """
    host, port = parse(text)
    if not host and socket.has_dualstack_ipv6():
        try:
            return _open(socket.AF_INET6, kind, ("::", port), dualstack=True)
        except OSError as error:
            if not _no_ipv6(error):
                raise
    family, _, _, _, address = socket.getaddrinfo(
        host or None, port, type=kind, flags=socket.AI_PASSIVE, family=0 if host else socket.AF_INET
    )[0]
    return _open(family, kind, address)


def _open(
    family: int, kind: socket.SocketKind, address: tuple[object, ...], *, dualstack: bool = False
) -> socket.socket:
    opened = socket.socket(family, kind)
    try:
        if kind == socket.SOCK_STREAM:
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            opened.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0 if dualstack else 1)
        opened.bind(address)
    except BaseException:
        opened.close()
        raise
    return opened


def _no_ipv6(error: OSError) -> bool:
    return error.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)
