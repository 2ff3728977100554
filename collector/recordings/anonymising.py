"""Names that identify somebody, replaced consistently; what evidence is made of is kept.

Kept: numbers, ranks, times, metric names, and attributes whose values come from a fixed set or from
hardware (`reason`, `code`, `version`, `device`, ...). Every other text is replaced by the same
stand-in wherever it occurs: jobs, hosts, clusters, switches, device ids, pods, mounts. In log texts
and stacks the words that this program itself looks for are kept, all others replaced.
"""

import builtins
import ipaddress
import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from ...vocabulary.samples import Scalar, TelemetryResource, attributes

_KEPT = """
action class code communicator communicator.rank communicator.size completed container.pid cpu
device device.kind direction domain dp enqueued ep error.type exit_code framework gpu group hw.model
hw.part hw.sensor hw.state hw.vendor investigate kind limit link local_rank name of op phase pid
port pp quality rail rank ranks reason resource role scope seq service.name signal signature source
state step switch_port tp type vendor version what
"""
KEPT = frozenset(_KEPT.split())
"""Attributes whose values do not identify a cluster or its users."""

TEXTS = frozenset(("text", "body", "message"))
"""Attributes that hold what somebody wrote: lines of logs, stacks."""

_USUAL_PATHS = frozenset(("/", "/dev/shm", "/tmp", "/var", "/boot"))  # noqa: S108  names only
_KINDS = {
    "host.name": "host",
    "hw.id": "device",
    "network.switch": "switch",
    "switch": "switch",
    "mountpoint": "mount",
    "k8s.pod.name": "pod",
    "k8s.namespace.name": "namespace",
    "k8s.node.name": "node",
}
_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
_ADDRESS = re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}\b|\b[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7}\b")
_SOURCES = ("detectors", "formats", "vocabulary", "alerts/causes")


class StandInNames:
    """The stand-ins of one recording. The same text always gets the same one."""

    def __init__(self, *, hosts: Collection[str], jobs: Collection[str]) -> None:
        """Name hosts and jobs in their order, so that what is sorted by name stays in order."""
        self._known: dict[str, str] = {}
        self._counts: dict[str, int] = {}
        self._words: dict[str, str] = {}
        self._pattern: re.Pattern[str] | None = None
        for host in sorted(hosts):
            self._new(host, "host")
        for job in sorted(jobs):
            self._new(job, "job")

    def resource(self, found: TelemetryResource) -> TelemetryResource:
        return replace(
            found,
            host=self._name(found.host, "host") if found.host else "",
            job=None if found.job is None else self._name(found.job, "job"),
            cluster=None if found.cluster is None else self._name(found.cluster, "cluster"),
            extra=attributes(self.pairs(dict(found.extra))),
        )

    def pairs(self, found: Mapping[str, Scalar]) -> dict[str, Scalar]:
        return {key: self._value(key, value) for key, value in found.items()}

    def identity(self, text: str) -> str:
        """Return an id in which known names are replaced, such as that of an entity."""
        return self._replaced(text)

    def text(self, text: str) -> str:
        """Return a line of a log: known names, addresses and unknown words replaced."""
        text = _ADDRESS.sub(self._address, self._replaced(text))
        return _WORD.sub(lambda match: self._word(match[0]), text)

    def _value(self, key: str, value: Scalar) -> Scalar:
        if not isinstance(value, str) or key in KEPT or not value:
            return value
        if key in TEXTS:
            return self.text(value)
        if value in _USUAL_PATHS or value.replace(".", "", 1).isdecimal():
            return value
        return self._name(value, _KINDS.get(key, key.rpartition(".")[2]))

    def _name(self, value: str, kind: str) -> str:
        return self._known.get(value) or self._new(value, kind)

    def _new(self, value: str, kind: str) -> str:
        number = self._counts[kind] = self._counts.get(kind, 0) + 1
        lead = "/" if value.startswith("/") else "GPU-" if value.startswith("GPU-") else ""
        self._known[value] = name = f"{lead}{kind}-{number:04}"
        self._pattern = None
        return name

    def _replaced(self, text: str) -> str:
        """Replace every known name in a text, the longest first."""
        if self._pattern is None:
            longest_first = sorted(self._known, key=lambda name: (-len(name), name))
            names = "|".join(re.escape(name) for name in longest_first)
            self._pattern = re.compile(f"(?<![A-Za-z0-9])(?:{names})(?![A-Za-z0-9])")
        return self._pattern.sub(lambda match: self._known[match[0]], text)

    def _address(self, match: re.Match[str]) -> str:
        try:
            ipaddress.ip_address(match[0])
        except ValueError:
            return match[0]
        return self._words.setdefault(match[0], f"192.0.2.{len(self._words) % 254 + 1}")

    def _word(self, word: str) -> str:
        if word.lower() in vocabulary() or word in self._counts:
            return word
        return self._words.setdefault(word, f"w{len(self._words) + 1}")


@cache
def vocabulary() -> frozenset[str]:
    """Return the words, in lower case, of this program's tables and detectors, and of Python."""
    root = Path(__file__).parents[2]
    found = {name.lower() for name in dir(builtins)}
    for part in _SOURCES:
        for file in sorted((root / part).rglob("*")):
            if file.suffix in (".py", ".toml"):
                found |= set(_WORD.findall(file.read_text(encoding="utf-8").lower()))
    return frozenset(found)
