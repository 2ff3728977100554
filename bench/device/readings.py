"""The agent's page beside `nvidia-smi -q -x` of the same moment, value by value (values.toml)."""

import re
import tomllib
from collections.abc import Mapping, Sequence
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


def devices(log: str) -> list[ET.Element]:
    """Return the devices of what `nvidia-smi -q -x` wrote."""
    return list(ET.fromstring(log).iter("gpu"))  # noqa: S314  the driver's own program


def text(device: ET.Element, path: str) -> str:
    """Return what a device's element says, "" where it is not there."""
    return (device.findtext(path) or "").strip()


def compared(page: bytes, before: ET.Element, after: ET.Element) -> list[dict[str, Any]]:
    """Return a row for each value of values.toml, from a page read between two answers.

    ours, nvidia-smi: in nvidia-smi's unit; None where the page lacks it, and what was read before
    and after, without "N/A". verdict: "equal", "DIFFERENT", "neither", "only nvidia-smi", "only
    ours", or "not read" where Rankscope reads no such thing. dcgm: names of dcgm-exporter's that
    should show it and do not, or show another value.
    """
    uuid = text(before, "uuid")
    values = [
        (dict(series.labels) | {"": series.name}, value)
        for series, value in exposition.parse(page).values
        if uuid in (series.label("hw_id"), series.label("UUID"))
    ]
    table = tomllib.loads(Path(__file__).with_name("values.toml").read_text(encoding="utf-8"))
    shown = dcgm.fields("both")
    return [_compared(row, values, (before, after), shown) for row in table["value"]]


def wrong(row: Mapping[str, Any]) -> bool:
    """Return whether something is to be mended where a row is from."""
    return row["verdict"] in ("DIFFERENT", "only nvidia-smi") or bool(row["dcgm"])


def _compared(
    row: Mapping[str, Any],
    values: Sequence[tuple[Mapping[str, str], float]],
    answers: Sequence[ET.Element],
    shown: Sequence[dcgm.DcgmField],
) -> dict[str, Any]:
    said = [found for one in answers if (found := _said(one, row["smi"])) is not None]
    within = row.get("within", 0.0) + row.get("share", 0.0) * max(said, default=0.0)
    compared = {"name": row["name"], "ours": None, "nvidia-smi": said, "within": within, "dcgm": []}
    if "metric" not in row:
        return {**compared, "verdict": "not read"}

    def get(name: str, of: Mapping[str, str]) -> float | None:
        labels = {key.replace(".", "_"): text for key, text in of.items()} | {"": name}
        return next((value for mine, value in values if labels.items() <= mine.items()), None)

    of = row.get("of", {})
    value = get(metrics.catalogue()[row["metric"]].prometheus_name, of)
    if value is None:
        return {**compared, "verdict": "only nvidia-smi" if said else "neither"}
    ours = value / row.get("unit", 1.0)
    verdict = "only ours"
    if said:
        near = min(said) - within - 0.01 <= ours <= max(said) + within + 0.01
        verdict = "equal" if near else "DIFFERENT"
    odd: list[str] = []
    for one in shown:
        if one.metric == row["metric"] and dict(one.fixed) == of and not one.derived:
            other = get(one.name, {})
            if other is None or abs(other * one.factor - value) > one.factor:
                odd.append(one.name)
    return {**compared, "ours": ours, "verdict": verdict, "dcgm": odd}


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
