"""JSON in files that anybody may have written: read, or found to be none."""

import json
from typing import Any


def value(text: str | bytes) -> Any:
    """Return what a JSON text holds; None where it is none, or nested too deep to be read."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
