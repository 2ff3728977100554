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


@dataclass(frozen=True, slots=True)
class Query:
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


def rows(expr: str) -> Query:
    """Return a query for a table: the labels and the value of each series now."""
    return Query(expr, instant=True, table=True)


def now(expr: str, legend: str = "") -> Query:
    """Return a query for one number."""
    return Query(expr, legend, instant=True)


def most(expr: str, by: str, count: int = MOST_LINES, *, lasting: bool = False) -> str:
    """Return the series of `expr` that reach highest in the time range, at most `count`.

    topk alone picks anew at each point of time, so that a plot shows many broken lines. `lasting`
    takes those with the highest mean: single spikes do not count.
    """
    over = "avg_over_time" if lasting else "max_over_time"
    highest = f"max by ({by}) ({over}(({expr})[$__range:$__interval] @ end()))"
    return f"({expr}) and on ({by}) topk({count}, {highest})"


def any_of(expr: str, by: str, count: int = MOST_LINES) -> str:
    """Return as `most` does the series that are above zero at all: nothing where all is well."""
    over_zero = f"max by ({by}) (max_over_time(({expr})[$__range:$__interval] @ end())) > 0"
    return f"({expr}) and on ({by}) topk({count}, {over_zero})"


def highest(selector: str, by: str, count: int = MOST_LINES) -> str:
    """Return as `most` does, of a plain selector: cheaper, and every sample counts."""
    top = f"topk({count}, max by ({by}) (max_over_time({selector}[$__range] @ end())))"
    return f"max by ({by}) ({selector}) and on ({by}) {top}"


def gained(counter: str) -> str:
    """Return what a counter gained in the time range, also where it began within the range.

    increase() misses the first value of a series, which is the whole loss of a short incident.
    """
    last = f"max_over_time({counter}[$__range])"
    return f"(({last} - {counter} offset $__range) or {last})"
