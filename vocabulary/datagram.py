"""The datagram from probe to agent: which process sends, and what it measured. One JSON object.

Why JSON and not pickle or struct: the agent must treat a tenant's process as hostile, tenants can
write it in any language, and encoding happens in the sender thread, off the training thread.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import inf
from typing import Any

from .samples import Attributes, Event, Sample, Scalar, TelemetryResource, attributes

VERSION = 1
LARGEST = 60_000
"""Bytes: below the largest UDP datagram, and far above what a step needs (about 700)."""


class DatagramError(ValueError):
    """A datagram that does not follow the form; its text says what and where."""


@dataclass(frozen=True, slots=True)
class ProbeDatagram:
    """What one probe sends at once.

    `number` counts the datagrams of this process from 0, so that gaps show as losses; `dropped`
    is how many the probe itself gave up so far. Events carry no resource: it is the datagram's.
    `attempt` is None where neither job nor launcher numbers attempts, and `start_time` (seconds
    since the epoch, whole) where the probe cannot read it; each is then left out of the JSON.
    `user` is whom the job names as its user, "" where it names none.
    """

    job: str
    attempt: int | None
    rank: int
    pid: int
    number: int = 0
    dropped: int = 0
    samples: tuple[Sample, ...] = ()
    events: tuple[Event, ...] = ()
    start_time: int | None = None
    user: str = ""


def encode(datagram: ProbeDatagram) -> bytes:
    """Return the bytes of a datagram. NaN and Inf travel as JSON's common extension.

    Put together by hand, since a probe does it at every step and attributes hardly ever change:
    three times as fast as one call of json.dumps.
    """
    samples = ",".join(
        f"[{_text_of(sample.metric)},{_number_of(sample.value)},{_number_of(sample.at)}"
        f"{_attributes_of(sample.attributes)}]"
        for sample in datagram.samples
    )
    events = [[event.name, event.at, dict(event.attributes)] for event in datagram.events]
    attempt = "" if datagram.attempt is None else f'"attempt":{datagram.attempt},'
    user = f'"user":{_text_of(datagram.user)},' if datagram.user else ""
    started = "" if datagram.start_time is None else f'"start":{datagram.start_time},'
    return (
        f'{{"v":{VERSION},"job":{_text_of(datagram.job)},{attempt}{started}{user}'
        f'"rank":{datagram.rank},"pid":{datagram.pid},"n":{datagram.number},'
        f'"dropped":{datagram.dropped},"samples":[{samples}],'
        f'"events":{json.dumps(events, separators=(",", ":")) if events else "[]"}}}'
    ).encode()


@lru_cache(1024)
def _text_of(text: str) -> str:
    return json.dumps(text)


def _number_of(value: float) -> str:
    number = float(value)
    return repr(number) if -inf < number < inf else json.dumps(number)


def _attributes_of(pairs: Attributes) -> str:
    # The types are part of the key: 1, 1.0 and True are equal, and three different JSON texts.
    return _pairs_text(pairs, tuple([type(value) for _name, value in pairs]))


@lru_cache(4096)
def _pairs_text(pairs: Attributes, _types: tuple[type, ...]) -> str:
    return f",{json.dumps(dict(pairs), separators=(',', ':'))}" if pairs else ""


def decode(data: bytes) -> ProbeDatagram:
    """Return the datagram in these bytes, or raise DatagramError."""
    if len(data) > LARGEST:
        raise DatagramError(f"{len(data)} bytes, more than the {LARGEST} a datagram may have")
    try:
        body = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise DatagramError(f"not JSON: {error}") from error
    if not isinstance(body, dict):
        raise DatagramError("not a JSON object")
    if body.get("v") != VERSION:
        raise DatagramError(f"version {body.get('v')!r}, this agent reads {VERSION}")
    return ProbeDatagram(
        job=_text(body, "job"),
        attempt=_whole(body, "attempt") if "attempt" in body else None,
        rank=_whole(body, "rank"),
        pid=_whole(body, "pid"),
        number=_whole(body, "n"),
        dropped=_whole(body, "dropped"),
        start_time=_whole(body, "start") if "start" in body else None,
        user=_text(body, "user") if "user" in body else "",
        samples=tuple(_sample(row) for row in _rows(body, "samples")),
        events=tuple(_event(row) for row in _rows(body, "events")),
    )


def _text(body: Mapping[str, Any], key: str) -> str:
    value = body.get(key)
    if not isinstance(value, str) or not value:
        raise DatagramError(f"{key}: a non-empty text is needed, not {value!r}")
    return value


def _whole(body: Mapping[str, Any], key: str) -> int:
    value = body.get(key, 0)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise DatagramError(f"{key}: a whole number from 0 is needed, not {value!r}")
    return value


def _rows(body: Mapping[str, Any], key: str) -> list[Any]:
    rows = body.get(key, [])
    if not isinstance(rows, list):
        raise DatagramError(f"{key}: a list is needed")
    return rows


def _number(value: object, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise DatagramError(f"{where}: a number is needed, not {value!r}")
    return float(value)


def _pairs(value: object, where: str) -> dict[str, Scalar]:
    if not isinstance(value, dict):
        raise DatagramError(f"{where}: an object is needed")
    for key, item in value.items():
        if not isinstance(item, str | int | float | bool):
            raise DatagramError(f"{where}.{key}: a text, number or boolean is needed")
    return value


def _sample(row: object) -> Sample:
    if not isinstance(row, list) or len(row) not in (3, 4) or not isinstance(row[0], str):
        raise DatagramError("samples: each is [metric, value, at] or [metric, value, at, {...}]")
    where = f"samples.{row[0]}"
    pairs = _pairs(row[3], where) if len(row) == 4 else {}
    return Sample(row[0], _number(row[1], where), _number(row[2], where), attributes(pairs))


def _event(row: object) -> Event:
    if not isinstance(row, list) or len(row) != 3 or not isinstance(row[0], str):
        raise DatagramError("events: each is [name, at, {...}]")
    where = f"events.{row[0]}"
    return Event(row[0], _number(row[1], where), _pairs(row[2], where), TelemetryResource(host=""))
