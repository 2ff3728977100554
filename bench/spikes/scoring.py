"""Whether what was said of a run is right: the cause, and in cases of data the batch."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from .runs import SpikeRun
from .shapes import SpikeFault, SpikeShape


@dataclass(frozen=True, slots=True)
class RunScore:
    """right: the cause; of a clean run that nothing was said. batch: None where none is asked."""

    shape: SpikeShape
    right: bool
    batch: bool | None
    said: str

    def document(self) -> dict[str, Any]:
        """Return it ready for JSON."""
        return {**asdict(self.shape), "right": self.right, "batch": self.batch, "said": self.said}


def score(fault: SpikeFault, run: SpikeRun) -> RunScore:
    first = [_first(one) for one in run.incidents]
    numeric = [one for one in first if one[0].startswith(("numerics.", "gpu.silent"))]
    spoken = [text for text in run.observations if _kind(text) in _OF_STEPS]
    said = "; ".join([*(f"{name}: {texts[0]}" for name, texts in numeric if texts), *spoken])[:400]
    if fault.clean:
        return RunScore(run.shape, not numeric and not spoken, None, said)
    texts = [text for name, rows in numeric if name in fault.causes for text in rows]
    if not fault.causes:
        texts = [text for _, rows in numeric for text in rows]
    texts += run.observations
    known = [text for text in texts if _kind(text) in fault.says and fault.words in text]
    batch = any(names_batch(text, run.shape) for text in known) if fault.batch else None
    return RunScore(run.shape, bool(known), batch, said)


_OF_STEPS = (
    "job.data_repeated",
    "job.data_unusual",
    "job.gradient_of_one_element",
    "job.loss_spike",
    "job.state_not_restored",
    "job.weights_differ",
)


def _first(document: Mapping[str, Any]) -> tuple[str, Sequence[str]]:
    """Return the first cause of an incident, and its evidence as "FAMILY: TEXT"."""
    first = document["root_cause"]["hypotheses"][0]
    return first["fault"], [
        f"{row['family']}: {row['text']}"
        for row in first["evidence"]
        if row["relation"] == "supports"
    ]


def _kind(text: str) -> str:
    return text.partition(": ")[0]


def names_batch(text: str, shape: SpikeShape) -> bool:
    """Tell whether a text names the rank, one of the steps and the samples of the spoiled shard."""
    steps = "|".join(str(shape.at + one) for one in range(shape.lasts))
    share = shape.share_of(shape.suspect)
    ranks = "|".join(str(rank) for rank in range(shape.ranks) if shape.share_of(rank) == share)
    return bool(
        re.search(rf"step ({steps})\b", text)
        and re.search(rf"rank ({ranks})\b", text)
        and "shard-" in text
    )
