"""With what a file was packed, known by its first bytes: most were with nothing.

tar, zip, gzip, bzip2, xz and zstd, and text in UTF-16.
"""

from typing import Literal

HEAD = 512
PackedKind = Literal["gzip", "bzip2", "xz", "zstd", "zip", "tar", "utf-16"]

_MAGIC: tuple[tuple[bytes, PackedKind], ...] = (
    (b"\x1f\x8b\x08", "gzip"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"PK\x03\x04", "zip"),
    (b"PK\x05\x06", "zip"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)


def kind(head: bytes) -> PackedKind | None:
    """Return what a file that begins so was packed with, None where it is no archive."""
    if head[257:262] == b"ustar" or _old_tar(head):
        return "tar"
    return next((one for magic, one in _MAGIC if head.startswith(magic)), None)


def _old_tar(head: bytes) -> bool:
    """Tell whether a block is the header of a tar of before POSIX: its checksum is right."""
    if len(head) < HEAD or not head[0]:
        return False
    try:
        checksum = int(head[148:156].strip(b" \0") or b"x", 8)
    except ValueError:
        return False
    return checksum == sum(head[:148]) + 256 + sum(head[156:])
