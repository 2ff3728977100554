"""Which addresses a webhook may go to: receivers on the site's networks, never a cloud's metadata.

A name is resolved once, every address it has is checked, and the connection goes to a checked
address, so that a name that changes its answer in between gains nothing. Loopback and private
addresses are allowed: that is where receivers live.
"""

import ipaddress
import socket
from collections.abc import Callable, Sequence

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolve = Callable[[str, int], Sequence[str]]

_FORBIDDEN = tuple(
    ipaddress.ip_network(text)
    for text in (
        "0.0.0.0/8",  # "this host": connects to loopback by another name
        "169.254.0.0/16",  # link-local, with the metadata services of most clouds
        "100.100.100.200/32",  # Alibaba Cloud metadata
        "168.63.129.16/32",  # Azure's platform endpoint
        "192.0.0.192/32",  # Oracle Cloud metadata
        "224.0.0.0/4",  # multicast
        "255.255.255.255/32",
        "::/128",
        "fe80::/10",  # link-local
        "fd00:ec2::/32",  # AWS metadata and its neighbours
        "fd20:ce::254/128",  # Google Cloud metadata
        "ff00::/8",  # multicast
    )
)
_EMBEDDING = (
    ipaddress.IPv6Network("64:ff9b::/96"),  # NAT64
    ipaddress.IPv6Network("::/96"),  # IPv4-compatible, long deprecated
)


class ForbiddenAddressError(Exception):
    """A webhook that would go where none may go."""


def resolve(host: str, port: int) -> list[str]:
    """Return the addresses of a host, in the order the system would try. Raises OSError."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(row[4][0]) for row in found))


def checked(host: str, port: int, *, resolve: Resolve = resolve) -> list[str]:
    """Return the addresses of a host, all of which are allowed.

    Raises ForbiddenAddressError when any is not: a name with one good and one bad address is not
    an honest receiver. Raises OSError when the name is not known.
    """
    addresses = resolve(host, port)
    for text in addresses:
        if forbidden(text):
            raise ForbiddenAddressError(
                "webhooks are not sent to link-local, metadata or multicast addresses"
            )
    return list(addresses)


def literal(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def forbidden(text: str) -> bool:
    """Tell whether no webhook may go to this address; what cannot be read as one is forbidden."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return True
    return any(
        form.version == network.version and form in network
        for form in _forms(address)
        for network in _FORBIDDEN
    )


def _forms(address: Address) -> list[Address]:
    """Return an address and every IPv4 address that hides in it."""
    forms: list[Address] = [address]
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped:
            forms.append(address.ipv4_mapped)
        if address.sixtofour:
            forms.append(address.sixtofour)
        if any(address in network for network in _EMBEDDING) and int(address) > 1:
            forms.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    return forms
