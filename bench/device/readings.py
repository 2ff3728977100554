"""The agent's page beside `nvidia-smi -q -x` of the same moment, value by value (values.toml)."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from rankscope.agent.dcgm_names import fields as dcgm
from rankscope.formats import exposition
from rankscope.vocabulary import metrics

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_WORDS = {
    **dict.fromkeys(("Active", "Yes", "Enabled"), 1.0),
    **dict.fromkeys(("Not Active", "No", "Disabled"), 0.0),
}


@dataclass(frozen=True, slots=True)
class ComparedValue:
    """One value as the agent's page has it and as nvidia-smi says it, in nvidia-smi's unit.

    ours: None where the page lacks it. smi: as read before and after the page, without "N/A".
    verdict: "equal", "DIFFERENT", "neither", "only nvidia-smi", "only ours", or "not read" where
    Rankscope reads no such thing. dcgm: names of dcgm-exporter's that should show it and do not, or
    another value.
    """

    name: str
    ours: float | None
    smi: Sequence[float]
    within: float
    verdict: str
    dcgm: Sequence[str] = ()

    @property
    def wrong(self) -> bool:
        """Return whether something is to be mended."""
        return self.verdict in ("DIFFERENT", "only nvidia-smi") or bool(self.dcgm)


@dataclass(frozen=True, slots=True)
class PageValues:
    """Values of one device on an agent's page: by name, and the labels of each."""

    rows: Mapping[str, Sequence[tuple[Mapping[str, str], float]]] = field(default_factory=dict)

    @classmethod
    def read(cls, page: bytes, uuid: str) -> "PageValues":
        """Return what a page says of a device, in our names and in dcgm-exporter's."""
        rows: dict[str, list[tuple[Mapping[str, str], float]]] = {}
        for series, value in exposition.parse(page).values:
            labels = dict(series.labels)
            if uuid in (labels.get("hw_id"), labels.get("UUID")):
                rows.setdefault(series.name, []).append((labels, value))
        return cls(rows)

    def get(self, name: str, of: Mapping[str, str] | None = None) -> float | None:
        """Return the first value with these labels."""
        wanted = {key.replace(".", "_"): value for key, value in (of or {}).items()}.items()
        found = (value for labels, value in self.rows.get(name, ()) if wanted <= labels.items())
        return next(found, None)


def devices(log: str) -> list[ET.Element]:
    """Return the devices of what `nvidia-smi -q -x` wrote."""
    return list(ET.fromstring(log).iter("gpu"))  # noqa: S314  the driver's own program


def text(device: ET.Element, path: str) -> str:
    """Return what a device's element says, "" where it is not there."""
    return (device.findtext(path) or "").strip()


def compared(page: bytes, before: ET.Element, after: ET.Element) -> list[ComparedValue]:
    """Return a row for each value of values.toml, from a page read between two answers."""
    values = PageValues.read(page, text(before, "uuid"))
    table = tomllib.loads(Path(__file__).with_name("values.toml").read_text(encoding="utf-8"))
    shown = dcgm.fields("both")
    return [_compared(row, values, (before, after), shown) for row in table["value"]]


def _compared(
    row: Mapping[str, Any],
    values: PageValues,
    answers: Sequence[ET.Element],
    shown: Sequence[dcgm.DcgmField],
) -> ComparedValue:
    said = [found for one in answers if (found := _said(one, row["smi"])) is not None]
    within = row.get("within", 0.0) + row.get("share", 0.0) * max(said, default=0.0)
    if "metric" not in row:
        return ComparedValue(row["name"], None, said, within, "not read")
    of = row.get("of", {})
    value = values.get(metrics.catalogue()[row["metric"]].prometheus_name, of)
    ours = None if value is None else value / row.get("unit", 1.0)
    if ours is None or not said:
        verdict = "only nvidia-smi" if said else "neither" if ours is None else "only ours"
    else:
        near = min(said) - within - 0.01 <= ours <= max(said) + within + 0.01
        verdict = "equal" if near else "DIFFERENT"
    odd: list[str] = []
    for one in shown:
        shows = one.metric == row["metric"] and dict(one.fixed) == of and not one.derived
        if value is not None and shows:
            other = values.get(one.name)
            if other is None or abs(other * one.factor - value) > one.factor:
                odd.append(one.name)
    return ComparedValue(row["name"], ours, said, within, verdict, odd)


def _said(device: ET.Element, paths: str) -> float | None:
    for way in paths.split("|"):
        numbers = [_number(text(device, part)) for part in way.split("+")]
        known = [number for number in numbers if number is not None]
        if len(known) == len(numbers):
            return sum(known)
    return None


def _number(said: str) -> float | None:
    """Return 81559 of "81559 MiB", 1 of "Active"; None of "N/A" and of sentences."""
    found = _NUMBER.match(said)
    return float(found[0]) if found else _WORDS.get(said)
