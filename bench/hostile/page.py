"""The table of docs/threats.md from results: `python -m bench.hostile.page FILE`."""

import json
import sys
from pathlib import Path
from typing import Any

from .attacks import attacks
from .verdicts import AttackVerdict, verdicts

PAGE = Path(__file__).parents[2] / "docs/threats.md"
BEGINS, ENDS = "<!-- Written by python -m bench.hostile.page. -->\n", "<!-- Here ends it. -->"


def table(result: dict[str, Any]) -> str:
    """Return the section's text, the worst attack first."""
    found = verdicts(result["rows"])
    columns = list(found[0].numbers)
    means = {one.name: one.means for one in attacks()}
    head = ["attack", "through", *columns]
    within = sum(not one.broken for one in found if one.attack != "none")
    lines = [
        (
            f"{result['at']}, {result['cores']} cores, {result['seconds']:g} s an attack."
            f" {within} of {len(found) - 1} are within all limits; what is over one is bold."
        ),
        "",
        f"| {' | '.join(head)} |",
        f"|{' --- |' * len(head)}",
    ]
    return "\n".join([*lines, *(_line(one, means) for one in found), ""])


def main(file: str) -> None:
    """Put it between the marks of the page."""
    result = json.loads(Path(file).read_text("utf-8"))
    before, _, rest = PAGE.read_text("utf-8").partition(BEGINS)
    _, _, after = rest.partition(ENDS)
    PAGE.write_text(f"{before}{BEGINS}\n{table(result)}\n{ENDS}{after}", encoding="utf-8")


def _line(one: AttackVerdict, means: dict[str, str]) -> str:
    over = {*one.broken}
    cells = [
        f"**{value:g}**" if name in over else f"{value:g}" for name, value in one.numbers.items()
    ]
    what = f"`{one.attack}`: {means[one.attack]}" if one.attack in means else one.attack
    return f"| {what} | {one.door} | {' | '.join(cells)} |"


if __name__ == "__main__":
    main(*sys.argv[1:])
