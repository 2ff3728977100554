"""The body of a request, as every format writes it."""

import json
from typing import Any


def encoded(content: Any) -> bytes:
    """Return content as compact JSON in UTF-8; the same content gives the same bytes."""
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()
