"""Messages as the outbox keeps them: compressed. Those of older versions are plain JSON."""

import zlib


def packed(body: bytes) -> bytes:
    """Return a message as it is kept."""
    return zlib.compress(body, 6)


def unpacked(kept: bytes) -> bytes:
    """Return a message that was kept. Raises zlib.error when it is neither form."""
    return kept if kept.startswith(b"{") else zlib.decompress(kept)
