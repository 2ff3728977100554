"""Answers of RAS as JSON, from NCCL 2.28.7 on: every rank of every communicator.

Of a rank that is missing NCCL 2.28.9 leaves out the comma before its `status`, which no reader of
JSON takes.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from .. import names
from .communicators import MOST_RANKS, RankPlace, RasCommunicator, RasError, RasStatus

_RESULTS: Mapping[int, str] = {
    1: "unhandled CUDA error",
    2: "system error",
    3: "internal error",
    4: "invalid argument",
    5: "invalid usage",
    6: "remote process error",
}
"""ncclResult_t, as RAS writes it into init_state and async_error; 0 is success, 7 in progress."""
_NO_COMMA = re.compile(r"(\d)([ \t\r]{0,99}\n[ \t]{0,99}\"status\"[ \t]{0,9}:)")


def answer(text: str) -> RasStatus:
    """Return what an answer says. Raises RasError."""
    try:
        return of_fields(json.loads(mended(text)))
    except (ValueError, RecursionError) as error:
        raise RasError(f"no JSON: {error}") from error


def mended(text: str) -> str:
    """Return an answer with the commas that NCCL leaves out."""
    return _NO_COMMA.sub(r"\1,\2", text)


def of_fields(loaded: object) -> RasStatus:
    """Return what an answer that was parsed says."""
    fields: dict[str, Any] = loaded if isinstance(loaded, dict) else {}
    found = RasStatus(stamp=str(fields.get("timestamp", ""))[:32], whole=True)
    for row in _rows(fields.get("communicators")):
        made = _communicator(row)
        found.communicators.append(made)
        uneven = "MISMATCH" if made.lag else "OK"
        found.sizes.append((made.size, "INCOMPLETE" if made.missing else uneven))
    places = {one for made in found.communicators for one in made.places.values()}
    found.devices, found.nodes = len(places), len({one.host for one in places})
    return found


def _communicator(row: Mapping[str, Any]) -> RasCommunicator:
    size = _whole(row.get("size"), 0)
    made = RasCommunicator(name=names.shown(row.get("hash", "")), size=min(size, MOST_RANKS))
    for one in _rows(row.get("ranks")):
        rank = _whole(one.get("rank"), -1)
        if not 0 <= rank < MOST_RANKS:
            continue
        counts = one.get("collective_counts")
        kinds: dict[str, int] = {}
        for kind, count in counts.items() if isinstance(counts, dict) else ():
            named = names.kind(kind)
            kinds[named] = kinds.get(named, 0) + _whole(count, 0)
        made.kinds[rank], made.launched[rank] = kinds, sum(kinds.values())
        made.places[rank] = _place(one)
        status = one.get("status")
        if isinstance(status, dict) and (said := _error(status)):
            made.errors[rank] = said
    for one in _rows(row.get("missing_ranks")):
        rank = _whole(one.get("rank"), -1)
        if not 0 <= rank < MOST_RANKS:
            continue
        made.places[rank] = _place(one)
        status = one.get("status")
        state: dict[str, Any] = status if isinstance(status, dict) else {}
        if state.get("considered_dead"):
            made.dead.add(rank)
        # A process that answered and says nothing of this communicator has left it, or is late.
        answered = state.get("unresponsive") is False and rank not in made.dead
        (made.left if answered else made.missing).add(rank)
    made.size = max(made.size, len(made.launched) + len(made.missing) + len(made.left))
    return made


def _error(status: Mapping[str, Any]) -> str:
    codes = (_whole(status.get("init_state"), 0), _whole(status.get("async_error"), 0))
    return next((_RESULTS[code] for code in codes if code in _RESULTS), "")


def _place(row: Mapping[str, Any]) -> RankPlace:
    device, cuda = _whole(row.get("nvml_dev"), -1), _whole(row.get("cuda_dev"), -1)
    return RankPlace(
        names.shown(row.get("host", "")),
        _whole(row.get("pid"), 0),
        device if device >= 0 else None,
        cuda if cuda >= 0 else None,
    )


def _rows(value: Any) -> list[Mapping[str, Any]]:
    rows: list[Any] = value if isinstance(value, list) else []
    return [row for row in rows if isinstance(row, dict)]


def _whole(value: Any, default: int) -> int:
    plain = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 53
    return value if plain else default
