"""Lines of Megatron's GPU sniff tests (`--gpu-sniff-test-interval`): ranks slower than the others.

Only rank 0 writes them, and it names outliers alone: who passed is not said. A rank that is faster
than the others is one too, and nothing is wrong with it.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated

from ...vocabulary import checks, row_values, tables
from ...vocabulary.checks import ReportedCheck
from . import fields

_TOOL = "Megatron's GPU sniff test"
_OTHER = "tool_node"
_METRIC = re.compile(r"([A-Z][\w/-]+ \w+) (\(.{1,160}\)) \[[^\]]{1,32}\]: median=")
_OUTLIER = re.compile(
    r"OUTLIER rank (\d{1,7})(?: \(([^)]{1,255})\))?: ([\d.]{1,24}) \(-(\d{1,3}\.\d)%\)"
)


@dataclass(frozen=True, slots=True)
class SniffTest:
    """A measurement by the first words of its line, and what its outliers are filed under."""

    name: str
    check: Annotated[str, row_values.KnownValues("check", checks.catalogue)]


def read(text: str) -> Iterator[ReportedCheck]:
    """Yield each rank that was slower than the others, in what."""
    name = said = ""
    for line in text.splitlines():
        if found := _METRIC.search(line):
            name, said = found[1], f"{found[1]} {found[2]}"
        elif found := _OUTLIER.search(line):
            yield ReportedCheck(
                check=_tests().get(name, _OTHER),
                tool=_TOOL,
                host=found[2] or "",
                device=f"rank {found[1]}",
                rank=int(found[1]),
                verdict="slow",
                reason=f"{said or 'a measurement'}: {found[3]}, {found[4]}% below the median"[
                    : fields.LONGEST
                ],
            )


@cache
def _tests() -> Mapping[str, str]:
    rows = tables.packaged(SniffTest, __package__ or "", "sniff_tests.toml", "test")
    return {row.name: row.check for row in rows}
