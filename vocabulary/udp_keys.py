"""The key by which an agent knows datagrams of its cluster's probes over UDP; both sides use it.

A signature behind the datagram: keyed BLAKE2s, which the standard library has without a module that
a job would not load. It keeps out who has no key. A datagram that was seen on the network can be
sent again, and who has the key may say anything: what comes stays claimed.
"""

import hashlib
from pathlib import Path

VARIABLE = "RANKSCOPE_PROBE__UDP_KEY_FILE"
SIGNATURE_BYTES = 32
_FEWEST_BYTES = 16


def read(path: Path) -> bytes:
    """Return the key in a file, without space around it.

    Raises ValueError, naming the file, where it cannot be read or holds less than 16 bytes.
    """
    try:
        held = path.read_bytes().strip()
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror or error}") from error
    if len(held) < _FEWEST_BYTES:
        raise ValueError(f"{path}: a key of {_FEWEST_BYTES} bytes at least is needed")
    return hashlib.blake2s(held).digest()


def signature(data: bytes, key: bytes) -> bytes:
    """Return what stands behind a datagram, SIGNATURE_BYTES long."""
    return hashlib.blake2s(data, key=key).digest()
