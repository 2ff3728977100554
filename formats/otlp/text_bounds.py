"""How long texts and names may be: what is longer is cut where it is decoded, as in a replay."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ...vocabulary import operations
from ...vocabulary.samples import Attributes, Scalar, TelemetryResource

TEXT_BYTES, NAME_BYTES = 8 << 10, 512

MOST_ATTRIBUTES = 64
"""Attributes of one event, or of a resource beside those that name it; the first are taken."""

_WIDEST = 4
"""Bytes of a character in UTF-8 at most."""

_READ_AT_ONCE = {operations.EVENT: operations.LONGEST, "ranks": 1 << 20}
"""By event or attribute: what is read when it arrives, whole or not at all, and then let go."""

_DIGEST = 16


@dataclass(frozen=True, slots=True)
class TextBounds:
    """The most bytes (UTF-8) of a text, and of a name: of a host, a job, a metric, an attribute."""

    text_bytes: int = TEXT_BYTES
    name_bytes: int = NAME_BYTES

    def may_pass(self, found: Mapping[str, Scalar]) -> bool:
        """Tell quickly whether an attribute of an event may have to be cut."""
        name, text = self.name_bytes // _WIDEST, self.text_bytes // _WIDEST
        for key, value in found.items():
            if len(key) > name or (type(value) is str and len(value) > text):
                return True
        return False

    def text(self, value: Scalar, event: str = "") -> Scalar:
        """Return a value of an event's attribute, its beginning where it is a longer text."""
        if not isinstance(value, str) or len(value) * _WIDEST <= self.text_bytes:
            return value
        return _beginning(value, max(self.text_bytes, _READ_AT_ONCE.get(event, 0)))

    def name(self, name: str) -> str:
        """Return a name; of a longer one its beginning and a digest, so that two stay two."""
        most = self.name_bytes
        if len(name) * _WIDEST <= most or len(data := _encoded(name)) <= most:
            return name
        import hashlib  # noqa: PLC0415  OpenSSL takes megabytes of an agent that never needs it

        digest = hashlib.sha256(data).hexdigest()[:_DIGEST]
        return f"{_beginning(name, most - _DIGEST - 1)}~{digest}"

    def value(self, name: str, value: Scalar) -> Scalar:
        """Return the value of a series' attribute, which is a name too."""
        if not isinstance(value, str):
            return value
        return _beginning(value, most) if (most := _READ_AT_ONCE.get(name)) else self.name(value)

    def resource(self, resource: TelemetryResource) -> TelemetryResource:
        """Return a resource with names that are within the bounds, the same one where they are."""
        texts = (resource.host, resource.job or "", resource.cluster or "", resource.service)
        if max(map(len, texts)) * _WIDEST > self.name_bytes:
            names = tuple(map(self.name, texts))
            if names != texts:
                host, job, cluster, service = names
                resource = replace(
                    resource, host=host, job=job or None, cluster=cluster or None, service=service
                )
        extra: Attributes = tuple(
            (self.name(name), self.value(name, value))
            for name, value in resource.extra[:MOST_ATTRIBUTES]
        )
        return resource if extra == resource.extra else replace(resource, extra=extra)


BOUNDS = TextBounds()
"""Those of a collector without settings of its own."""


def resource_bytes(resource: TelemetryResource) -> int:
    """Return about how many bytes the texts of a resource have."""
    named = (resource.host, resource.job or "", resource.cluster or "", resource.service)
    return sum(map(len, named)) + sum(len(name) + len(str(value)) for name, value in resource.extra)


def _encoded(text: str) -> bytes:
    return text.encode(errors="replace")


def _beginning(text: str, most: int) -> str:
    """Return so many bytes of a text, and no part of a character."""
    if len(text) * _WIDEST <= most or len(data := _encoded(text[:most])) <= most >= len(text):
        return text
    return data[:most].decode(errors="ignore")
