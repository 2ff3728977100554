"""What the results of the script settle: data, silicon or code; or that they do not.

Judged by the steps from the suspect one on: whether loss or gradient norm stand above what they
were in the steps before it.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Settled = Literal["data", "silicon", "code", "not reproduced", "undetermined"]

LEAST, SIGMAS = 0.1, 6.0
"""A loss is high from such a share of its level on, and from so many times what it strays by."""

NORM_TIMES = 5.0
"""A gradient norm is high from so many times its median on."""

FEWEST = 3
"""Steps before the suspect one without which nothing is known of what is usual."""

_MAD = 1.4826


class ResultsError(ValueError):
    """A file that is not what the script writes; the text says why."""


@dataclass(frozen=True, slots=True)
class BisectVerdict:
    """What was settled. `reasons`: a sentence each, in the order in which they were drawn."""

    settled: Settled
    reasons: tuple[str, ...]

    def document(self) -> dict[str, Any]:
        """Return it ready for JSON."""
        return {"settled": self.settled, "reasons": list(self.reasons)}


Rows = Sequence[Mapping[str, Any]]


def of(results: Mapping[str, Any]) -> BisectVerdict:
    """Return what the results settle. Raises ResultsError."""
    try:
        suspect = int(results["plan"]["step"])
        held = results["experiments"]
        experiments: dict[str, Rows] = {name: held[name]["steps"] for name in held}
        devices = {name: str(held[name]["device"]) for name in held}
        if "again" not in experiments:
            return BisectVerdict("undetermined", ("the experiment `again` has not been run",))
        usual = _UsualValues.of([row for row in experiments["again"] if int(row["step"]) < suspect])
        high = {
            name: _first_high(usual, [row for row in rows if int(row["step"]) >= suspect])
            for name, rows in experiments.items()
        }
        return _settled(suspect, experiments, devices, high)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ResultsError(f"not the results of a bisection: {error!r}") from None


@dataclass(frozen=True, slots=True)
class _UsualValues:
    """What loss and gradient norm may be at most to count as usual; inf where unknown."""

    loss: float
    norm: float

    @classmethod
    def of(cls, rows: Rows) -> "_UsualValues":
        losses = [_number(row, "loss") for row in rows]
        norms = [_number(row, "grad_norm") for row in rows]
        losses, norms = ([one for one in many if math.isfinite(one)] for many in (losses, norms))
        if len(losses) < FEWEST:
            raise ResultsError(
                f"{len(losses)} steps before the suspect one, fewer than {FEWEST}: go on from an "
                "earlier checkpoint"
            )
        middle = statistics.median(losses)
        strays = _MAD * statistics.median(abs(one - middle) for one in losses)
        return cls(
            loss=middle + max(LEAST * abs(middle), SIGMAS * strays),
            norm=NORM_TIMES * statistics.median(norms) if len(norms) >= FEWEST else math.inf,
        )


def _first_high(usual: _UsualValues, rows: Rows) -> int | None:
    """Return the first step that stands out, None where none does."""
    for row in rows:
        loss, norm = _number(row, "loss"), _number(row, "grad_norm")
        strange = "grad_norm" in row and not math.isfinite(norm)
        if not math.isfinite(loss) or loss > usual.loss or strange or norm > usual.norm:
            return int(row["step"])
    return None


def _settled(
    suspect: int,
    experiments: Mapping[str, Rows],
    devices: Mapping[str, str],
    high: Mapping[str, int | None],
) -> BisectVerdict:
    said = [_said(name, devices[name], high[name], suspect) for name in experiments]
    twice = _differs(experiments["again"], experiments.get("again_too"))
    if twice is not None:
        said.append(f"the same device gave other weights the second time, from step {twice} on")
    again = [high[name] for name in ("again", "again_too") if name in high]
    if not any(step is not None for step in again):
        return _not_reproduced(experiments, devices, high, said)
    if any(step is None for step in again):
        said.append("the step stands out in one of two recomputations on the same device")
        if "elsewhere" in high and high["elsewhere"] is None:
            return BisectVerdict("silicon", (*said, "and in none on the other device"))
        return BisectVerdict("undetermined", tuple(said))
    if "elsewhere" in high and high["elsewhere"] is None:
        return BisectVerdict("silicon", (*said, "the device makes the difference"))
    if "without" not in high:
        return BisectVerdict("undetermined", (*said, "the experiment `without` has not been run"))
    if high["without"] is not None:
        if "elsewhere" not in high:
            said.append("without another device, silicon cannot be ruled out")
            return BisectVerdict("undetermined", tuple(said))
        text = "neither the batch nor the device makes the difference: the weights of the "
        text += "checkpoint, the code or its settings do"
        return BisectVerdict("code", (*said, text))
    if "elsewhere" not in high:
        said.append("it was not recomputed on another device")
    text = "with the batch it stands out, with that of the step before in its place it does not; "
    text += "other weights would perhaps have borne the batch"
    return BisectVerdict("data", (*said, text))


def _not_reproduced(
    experiments: Mapping[str, Rows],
    devices: Mapping[str, str],
    high: Mapping[str, int | None],
    said: list[str],
) -> BisectVerdict:
    other = _differs(experiments["again"], experiments.get("elsewhere"))
    if high.get("elsewhere") is not None:
        said.append("only the other device shows it: look at that one")
        return BisectVerdict("silicon", tuple(said))
    if other is not None and _kind(devices["again"]) == _kind(devices["elsewhere"]):
        said.append(
            f"from step {other} on both devices gave other weights; two of one model agree to the "
            "bit only where the kernels are deterministic"
        )
    said.append(
        "what happened then does not happen again: chance in the silicon, another rank, or state "
        "that the checkpoint does not hold"
    )
    return BisectVerdict("not reproduced", tuple(said))


def _said(name: str, device: str, step: int | None, suspect: int) -> str:
    what = {"again": "again", "again_too": "a second time", "elsewhere": "elsewhere",
            "without": f"without the batch of step {suspect}"}.get(name, name)  # fmt: skip
    seen = "nothing stands out" if step is None else f"step {step} stands out"
    return f"{what}, on {device}: {seen}"


def _differs(rows: Rows, others: Rows | None) -> int | None:
    """Return the first step after which the weights differ, None where none is known to."""
    if others is None:
        return None
    known = {int(row["step"]): row["weights"] for row in others if row.get("weights")}
    for row in rows:
        step = int(row["step"])
        if row.get("weights") and step in known and known[step] != row["weights"]:
            return step
    return None


def _kind(device: str) -> str:
    return device.partition(":")[0]


def _number(row: Mapping[str, Any], name: str) -> float:
    value = row.get(name, math.nan if name == "loss" else -math.inf)
    return float(value)
