"""Names from a tenant's files that become labels: short, few, harmless to a terminal or a page."""

import re

_KIND = re.compile(r"[A-Za-z_][\w.:-]{0,47}", re.ASCII)
OTHER = "other"
LONGEST = 128


def kind(value: object) -> str:
    """Return the kind of a collective, such as AllReduce; "other" for what is no such word."""
    text = str(value or "")
    return text if not text or _KIND.fullmatch(text) else OTHER


def shown(value: object) -> str:
    """Return a name cut to a length, with "?" for what is not printable or belongs to a tag."""
    return printable(value, LONGEST).replace("<", "?").replace(">", "?")


def printable(value: object, longest: int) -> str:
    """Return a text cut to a length, with "?" for what is not printable."""
    return "".join(one if one.isprintable() else "?" for one in str(value)[:longest])
