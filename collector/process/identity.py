"""Which collector this is, among several that share an incident store: a name in its data folder.

A restart keeps it, and so goes on at once with the deliveries that were under way.
"""

import secrets
from pathlib import Path

from ...formats.segments.rewriting import rewrite

_NAME = "collector-id"


def of(folder: Path) -> str:
    """Return the name of the collector whose data folder this is, made at its first start."""
    path = folder / _NAME
    try:
        held = path.read_text(encoding="ascii").strip()
    except (FileNotFoundError, UnicodeDecodeError):
        held = ""
    if not held or len(held) > 64:
        held = secrets.token_hex(8)
        rewrite(path, [f"{held}\n".encode()])
    return held
