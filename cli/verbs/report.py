"""`rankscope report`: GPU hours used and lost, by week, user, job or fault (show-back).

Or what would be gained: hosts by what their repair would bring, a job without its slowest.
"""

import argparse
from collections.abc import Mapping
from typing import Any

from .. import asking, tables, terminal

HELP = "report GPU hours used and lost, by week, user, job or fault"
EXTRA: str | None = None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--by", default="week,user,job", help="some of week,user,job,fault; default: week,user,job"
    )
    parser.add_argument("--since", help="from then on (RFC 3339 or epoch seconds)")
    parser.add_argument("--until", help="up to then (RFC 3339 or epoch seconds)")
    parser.add_argument("--user", help="only users that fit this pattern (* ? [..])")
    parser.add_argument("--job", help="only jobs that fit this pattern (* ? [..])")
    parser.add_argument("--fault", help="only incidents with this fault as first cause")
    parser.add_argument(
        "--actions",
        action="store_true",
        help="report what was done about causes instead, and how often it helped",
    )
    parser.add_argument(
        "--hosts",
        action="store_true",
        help="report hosts instead, by what their repair would bring; default: of the last 7 days",
    )
    parser.add_argument(
        "--slowest",
        choices=("rank", "host"),
        help="report instead what --job would gain without its slowest ranks or hosts",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--csv", action="store_true", help="print CSV, as /api/v1/report.csv")
    form.add_argument("--json", action="store_true", help="print one row a line")
    asking.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    if arguments.slowest and not arguments.job:
        terminal.complain("rankscope report: --slowest needs --job, the id of one job")
        return 2
    wanted = {
        name: getattr(arguments, name) for name in ("by", "since", "until", "user", "job", "fault")
    }
    try:
        collector = asking.CollectorClient.of(arguments)
        if arguments.actions:
            return _actions(collector, arguments)
        if arguments.hosts:
            return _hosts(collector, arguments)
        if arguments.slowest:
            return _slowest(collector, arguments)
        if arguments.csv:
            print(collector.text("report.csv", **wanted).replace("\r\n", "\n"), end="")
            return 0
        rows = list(collector.every("report", **wanted, limit=200))
    except asking.CollectorAnswerError as error:
        terminal.complain(f"rankscope report: {error}")
        return 1
    keys = arguments.by.split(",")
    if arguments.json:
        for row in rows:
            print(terminal.json_line(row))
    elif rows:
        head = (*(key.upper() for key in keys), "USED", "LOST", "CAUSES TOOK", "GOODPUT",
                "INCIDENTS", "MTTD", "MTTA", "MTTR", "COSTLIEST")  # fmt: skip
        print(tables.table([head, *(tables.plain(_row(row, keys)) for row in rows)]))
        print("used, lost: GPU-hours; goodput: the share of use that was not lost; times: means")
        print("causes took: GPU-hours that steps without them would not, where they were measured")
    else:
        print("nothing was used, and nothing lost")
    return 0


def _actions(collector: asking.CollectorClient, arguments: argparse.Namespace) -> int:
    """Print how many actions were taken by cause and executor, and what came of them."""
    wanted = {"since": arguments.since, "job": arguments.job, "cause": arguments.fault, "limit": 1}
    rows = collector.get("actions", **wanted)["record"]
    if arguments.json:
        for row in rows:
            print(terminal.json_line(row))
    elif rows:
        names = ("cause", "executor", "mode", "taken", "right", "wrong", "undetermined",
                 "failed", "vetoed", "withdrawn", "undone", "planned")  # fmt: skip
        head = tuple(name.upper() for name in names)
        lines = (tables.plain(tuple(str(row[name]) for name in names)) for row in rows)
        print(tables.table([head, *lines]))
        print("right: the job regained its steps and their speed; see `GET /api/v1/actions`")
    else:
        print("no action was taken, and none planned")
    return 0


def _hosts(collector: asking.CollectorClient, arguments: argparse.Namespace) -> int:
    """Print hosts by what their repair would bring."""
    rows = list(collector.every("gains", since=arguments.since, until=arguments.until, limit=200))
    head = ("HOST", "GPU-HOURS", "BY", "INCIDENTS", "AN HOUR NOW", "JOBS NOW")
    nothing = "no incident names a host, and no running job is held up by one"
    tables.show(rows, head, _host, as_json=arguments.json, nothing=nothing)
    if rows and not arguments.json:
        print("GPU-hours: lost by incidents that name the host, where steps were measured")
        print("an hour now: what jobs that run would give back with it replaced")
    return 0


def _host(row: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        row["host"],
        _hours(row["past"]),
        ", ".join(row["bases"]) or "-",
        str(len(row["incidents"])),
        _hours(row["an_hour"]),
        ", ".join(one["job"] for one in row["now"]) or "-",
    )


def _slowest(collector: asking.CollectorClient, arguments: argparse.Namespace) -> int:
    """Print what a job would gain without its slowest one, two and five ranks or hosts."""
    found = collector.get("jobs", arguments.job, "slowest", by=arguments.slowest)
    if arguments.json:
        print(terminal.json_line(found))
        return 0
    if not found["without"]:
        print("nothing says: no rank reports what it does in a step, or none has a peer")
        return 0
    names = [
        f"rank {row['rank']} on {row['host']}" if arguments.slowest == "rank" else row["host"]
        for row in found["slowest"]
    ]
    head = ("WITHOUT", "STEP", "90 % INTERVAL", "GPU-HOURS AN HOUR")
    lines = [("-", f"{found['step_seconds']:.4g} s", "", "")]
    for row in found["without"]:
        step = row["without"]
        interval = f"{step['low']:.4g} - {step['high']:.4g} s"
        who = ", ".join(names[: row["removed"]])
        lines.append((who, f"{step['step_seconds']:.4g} s", interval, _hours(row["an_hour"])))
    print(tables.table([head, *(tables.plain(line) for line in lines)]))
    print(f"of the newest {found['steps']} steps, by what each rank does in a step")
    return 0


def _hours(found: Mapping[str, float] | None) -> str:
    return tables.interval(*((found or {}).get(key) for key in ("gpu_hours", "low", "high")))


def _row(row: Mapping[str, Any], keys: list[str]) -> tuple[str, ...]:
    used, goodput = row["gpu_hours_used"], row["goodput"]
    return (
        *((row[key] or "-") for key in keys),
        "-" if used is None else f"{used:.2f}",
        f"{row['gpu_hours_lost']:.2f}",
        tables.interval(*(row[f"gpu_hours_gained{end}"] for end in ("", "_low", "_high"))),
        "-" if goodput is None else f"{goodput:.1%}",
        str(row["incidents"]),
        *(_time(row[f"{name}_seconds"]) for name in ("mttd", "mtta", "mttr")),
        row["costliest_fault"] or "-",
    )


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    return f"{seconds:.0f} s" if seconds < 600 else f"{seconds / 60:.0f} min"
