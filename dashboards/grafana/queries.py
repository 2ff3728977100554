"""Queries as dashboards hold them, and the few pieces of PromQL that repeat."""

from dataclasses import dataclass

MOST_RANKS = 64
"""Rows of a heatmap: as many as a screen tells apart."""
MOST_SMALL = 12
"""Lines of a small plot, whose legend is beneath it."""
MOST_LINES = 20
"""Lines of a plot: more cannot be told apart by their colours."""

JOB = 'cluster=~"$cluster", job_id="$job"'
RANKS = 'cluster=~"$cluster", job_id="$job", host_name=~"$host", rank=~"$rank"'
HOST = 'cluster=~"$cluster", host_name="$host"'
HOSTS = 'cluster=~"$cluster", host_name=~"$host"'
JOBS = 'job_id=~"$job"'
JOBS_OR_NONE = 'job_id=~"$job|"'
"""An incident of the whole cluster has no job."""
HELD_DOWN = 'reason=~"thermal_hw|thermal_sw|slowdown_hw|power_brake"'
"""Why a device's clocks are held down where that is no part of ordinary life: heat or a brake."""


@dataclass(frozen=True, slots=True)
class PanelQuery:
    """One target. `legend` names labels as Grafana writes them: `{{host_name}} GPU {{gpu}}`.

    `instant` asks for the value at the end of the time range only, `table` for rows of labels.
    """

    expr: str
    legend: str = ""
    instant: bool = False
    table: bool = False


def by_gpu(expr: str, *more: str) -> str:
    """Return a device's series by node and index, and by `more` labels.

    A device's series begins anew whenever another rank is placed on it: plots want one line.
    """
    return f"max by ({', '.join(('host_name', 'gpu', *more))}) ({expr})"


def rows(expr: str) -> PanelQuery:
    """Return a query for a table: the labels and the value of each series now."""
    return PanelQuery(expr, instant=True, table=True)


def now(expr: str, legend: str = "") -> PanelQuery:
    return PanelQuery(expr, legend, instant=True)


def chosen(expr: str, by: str, ranking: str, count: int = MOST_LINES) -> str:
    """Return the series of `expr` that `ranking` puts first, at most `count`.

    topk alone picks anew at each point of time, so that a plot shows many broken lines. `ranking`
    is computed once, at the end of the time range, and best over `[$__range] @ end()`: a subquery
    over a thousand ranks would cost more than all the rest of a dashboard.
    """
    return f"({expr}) and on ({by}) topk({count}, {ranking})"


def few(
    selector: str, by: str, ranking: str, count: int = MOST_LINES, *, operation: str = "max"
) -> str:
    """Return as `chosen` does a selector by some labels; those left out are not even added up."""
    top = f"topk({count}, {operation} by ({by}) ({ranking}))"
    return f"{operation} by ({by}) ({selector} and on ({by}) {top})"


def highest(selector: str, by: str, count: int = MOST_LINES) -> str:
    """Return the series of a gauge that reach highest in the time range."""
    return few(selector, by, f"max_over_time({selector}[$__range] @ end())", count)


def rated(counter: str, by: str, *, minute: bool = False, positive: bool = True) -> str:
    """Return how often a counter counts in a second, or a minute, where it does most.

    `positive` leaves out what counted nothing in the time range: nothing found, all is well.
    """
    rate = f"sum by ({by}) (rate({counter}[$__rate_interval]))"
    ranking = f"sum by ({by}) (rate({counter}[$__range] @ end()))"
    return chosen(f"{rate} * 60" if minute else rate, by, f"{ranking} > 0" if positive else ranking)


def of_any(expr: str, operation: str = "max") -> str:
    """Return series that each of several collectors shows, and one that began anew, once.

    Without it sums count an incident once a collector, what is matched by its labels is there
    twice, and every alert ends and begins anew with a collector's pod.
    """
    return f"{operation} without (instance, pod) ({expr})"


def gained(counter: str) -> str:
    """Return what a collector's counter gained in the time range, also where it began within it.

    increase() misses the first value of a series, which is the whole loss of a short incident.
    """
    last = of_any(f"max_over_time({counter}[$__range])")
    before = of_any(f"last_over_time({counter}[1h] offset $__range)")
    return f"(({last} - {before}) or {last})"
