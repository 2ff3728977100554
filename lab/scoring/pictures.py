"""Pictures of a result as SVG: confusion of first causes, delays by fault, reliability."""

import math
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

from .figures import HEALTHY, NOTHING

_CELL, _LABEL, _ROW = 18, 190, 20
_TICKS = (1.0, 5.0, 15.0, 60.0, 300.0, 900.0)
_FIRST, _LAST = 0.3, 1200.0
_PLOT = 560
_INK, _GRID, _RIGHT, _WRONG = "#1f2933", "#d9dee3", (31, 98, 168), (200, 88, 28)


def confusion(matrix: Mapping[str, Mapping[str, int]]) -> str:
    """Return the matrix: a row for each true fault, a column for each first cause.

    Shade is the share of the row; blue is right, orange is wrong.
    """
    causes = sorted({cause for row in matrix.values() for cause in row} | set(matrix))
    columns = [c for c in causes if c not in (NOTHING, HEALTHY)] + [NOTHING]
    width, height = _LABEL + _CELL * len(columns) + 20, _LABEL + _CELL * len(matrix) + 30
    parts = [_text(10, 18, "true fault (rows) and first cause (columns)", weight="bold")]
    for number, cause in enumerate(columns):
        x = _LABEL + _CELL * number + 13
        parts.append(_text(x, _LABEL - 6, cause, turned=True))
    for line, (true, row) in enumerate(matrix.items()):
        y = _LABEL + _CELL * line
        parts.append(_text(_LABEL - 6, y + 13, true, anchor="end"))
        total = sum(row.values())
        for number, cause in enumerate(columns):
            count = row.get(cause, 0)
            right = cause == true or (true == HEALTHY and cause == NOTHING)
            fill = _shade(_RIGHT if right else _WRONG, count / total if total else 0.0)
            x = _LABEL + _CELL * number
            parts.append(
                f'<rect x="{x}" y="{y}" width="{_CELL}" height="{_CELL}" fill="{fill}" '
                f'stroke="{_GRID}"/>'
            )
            if count:
                ink = "#ffffff" if count / total > 0.5 else _INK
                middle = x + _CELL / 2
                parts.append(_text(middle, y + 13, str(count), anchor="middle", fill=ink))
    return _picture(width, height, parts, "Confusion matrix of first causes")


def delays(by_fault: Mapping[str, Sequence[float]]) -> str:
    """Return a row of dots for each fault, a dot for each case found; the bar is the median."""
    height = 60 + _ROW * len(by_fault)
    parts = [_text(10, 18, "seconds from onset to incident (log scale)", weight="bold")]
    for tick in _TICKS:
        x = _x(tick)
        parts.append(f'<path d="M{x:.1f} 30V{height - 24}" stroke="{_GRID}"/>')
        parts.append(_text(x, height - 8, f"{tick:g} s", anchor="middle"))
    for line, (fault, values) in enumerate(by_fault.items()):
        y = 40 + _ROW * line
        parts.append(_text(_LABEL - 6, y + 4, fault, anchor="end"))
        parts += [
            f'<circle cx="{_x(value):.1f}" cy="{y}" r="3.5" fill="rgb{_RIGHT}" '
            f'fill-opacity="0.45"/>'
            for value in values
        ]
        if values:
            x = _x(sorted(values)[(len(values) - 1) // 2])
            parts.append(f'<path d="M{x:.1f} {y - 7}v14" stroke="rgb{_WRONG}" stroke-width="2.5"/>')
        else:
            parts.append(_text(_LABEL + 6, y + 4, "never found", fill=f"rgb{_WRONG}"))
    return _picture(_LABEL + _PLOT + 40, height, parts, "Delay from onset to incident by fault")


def reliability(bins: Sequence[Mapping[str, float]]) -> str:
    """Return a dot for each bin of probability: what was said against what came true.

    On the diagonal both are the same; the size of a dot is how many incidents it stands for.
    """
    size, edge = 320, 50
    parts = [_text(10, 18, "first causes: probability and share that is right", weight="bold")]
    for number in range(6):
        share = number / 5
        x, y = edge + size * share, 30 + size * (1 - share)
        parts.append(f'<path d="M{x:.1f} 30v{size}M{edge} {y:.1f}h{size}" stroke="{_GRID}"/>')
        parts.append(_text(x, 30 + size + 16, f"{share:.1f}", anchor="middle"))
        parts.append(_text(edge - 6, y + 4, f"{share:.1f}", anchor="end"))
    parts.append(f'<path d="M{edge} {30 + size}L{edge + size} 30" stroke="{_INK}"/>')
    most = max((row["incidents"] for row in bins), default=1)
    for row in bins:
        x, y = edge + size * row["probability"], 30 + size * (1 - row["right"])
        radius = 3 + 9 * math.sqrt(row["incidents"] / most)
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="rgb{_RIGHT}" '
            f'fill-opacity="0.6"><title>{row["incidents"]:g} incidents</title></circle>'
        )
    parts.append(_text(edge + size / 2, 30 + size + 34, "probability", anchor="middle"))
    return _picture(edge + size + 20, 30 + size + 46, parts, "Reliability of probabilities")


def _x(seconds: float) -> float:
    low, high = math.log(_FIRST), math.log(_LAST)
    at = math.log(min(max(seconds, _FIRST), _LAST))
    return _LABEL + 10 + _PLOT * (at - low) / (high - low)


def _shade(colour: tuple[int, int, int], share: float) -> str:
    """Return a colour between white and this one; what is there at all is visible."""
    strength = 0.0 if share <= 0 else 0.25 + 0.75 * share
    red, green, blue = (round(255 - (255 - part) * strength) for part in colour)
    return f"#{red:02x}{green:02x}{blue:02x}"


def _text(
    x: float,
    y: float,
    text: str,
    *,
    anchor: str = "start",
    turned: bool = False,
    fill: str = _INK,
    weight: str = "normal",
) -> str:
    turn = f' transform="rotate(-60 {x:g} {y:g})"' if turned else ""
    return (
        f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" fill="{fill}" font-weight="{weight}"'
        f"{turn}>{escape(text)}</text>"
    )


def _picture(width: float, height: float, parts: Sequence[str], title: str) -> str:
    # Turned labels lean to the right of the last column.
    width += 110
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
        f'viewBox="0 0 {width:g} {height:g}" font-family="sans-serif" font-size="11" role="img">'
    )
    back = f'<title>{escape(title)}</title><rect width="100%" height="100%" fill="#ffffff"/>'
    return "\n".join([head, back, *parts, "</svg>"]) + "\n"
