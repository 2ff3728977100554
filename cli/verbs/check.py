"""`rankscope check`: measure what this node can do, and say whether it is what it should be."""

import argparse
import difflib
import os
import socket
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import asking, terminal

if TYPE_CHECKING:
    from ...checks.judging import JudgedCheck
    from ...checks.node_checks import CheckPlan

HELP = "check this node: compute, memory, links, disks, clock; beside its like"
EXTRA: str | None = None

_MOST_SECONDS = 3600


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument(
        "--only", nargs="+", type=_names, action="extend", default=[], metavar="NAME",
        help="these checks, by spaces or commas; --list names all",
    )  # fmt: skip
    parser.add_argument(
        "--read", nargs="+", default=[], metavar="FILE",
        help="measure nothing: take results of other tools (dcgmi diag -j, nccl-tests, ...) from "
        "these files, - is standard input",
    )  # fmt: skip
    parser.add_argument("--list", action="store_true", help="list the checks and measure nothing")
    parser.add_argument(
        "--seconds", type=_seconds, default=90, metavar="N", help="for all checks; default: 90"
    )
    parser.add_argument(
        "--peer",
        type=_peer,
        metavar="HOST[:PORT]",
        help="compare with this host in the same minute: run it there too, with --peer THIS",
    )
    parser.add_argument(
        "--port", type=_port, metavar="N", help="where the peer calls this host; default: 8472"
    )
    parser.add_argument(
        "--incident",
        metavar="ID",
        help="run the one check that tells its causes apart best; with --only: these",
    )  # fmt: skip
    parser.add_argument(
        "--host", help="name of this host, as the agent has it (RANKSCOPE_NODE__HOST)"
    )
    parser.add_argument(
        "--place", default=os.environ.get("RANKSCOPE_PLACE", ""), metavar="NAME",
        help="row, hall or cloud zone: compared with hosts there alone (RANKSCOPE_PLACE)",
    )  # fmt: skip
    parser.add_argument("--shared", default="", metavar="PATH", help="a folder of shared storage")
    parser.add_argument(
        "--beside-jobs", action="store_true", help="measure though a training process runs here"
    )
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.add_argument("--verbose", action="store_true", help="a line a result as well")
    asking.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Check; 0 where all that was measured passed, 1 where something is slow or failed."""
    from ...vocabulary import checks  # noqa: PLC0415  starts fast without

    if arguments.list:
        _list()
        return 0
    arguments.only = [name for names in arguments.only for name in names]
    for name in arguments.only:
        if name not in checks.runnable():
            terminal.complain(f"rankscope check: {_unknown(name, list(checks.runnable()))}")
            return 2
    if arguments.shared and not Path(arguments.shared).is_dir():
        terminal.complain(f"rankscope check: --shared {arguments.shared} is no folder")
        return 2
    if arguments.read and (arguments.only or arguments.peer):
        terminal.complain("rankscope check: --read measures nothing: leave --only and --peer out")
        return 2
    host = arguments.host or os.environ.get("RANKSCOPE_NODE__HOST") or socket.gethostname()
    asked = arguments.incident or arguments.url or os.environ.get("RANKSCOPE_URL")
    try:
        collector = asking.CollectorClient.of(arguments) if asked else None
        if arguments.read:
            return _of_reports(arguments, collector, host)
        if collector is not None and arguments.incident and not arguments.only:
            return _for_incident(arguments, collector, host)
    except asking.CollectorAnswerError as error:
        terminal.complain(f"rankscope check: {error}")
        return 2
    results, at = _checked(
        arguments, collector, host, _plan(arguments, host), incident=arguments.incident or ""
    )
    return _said(arguments, host, at, results)


def _of_reports(
    arguments: argparse.Namespace, collector: asking.CollectorClient | None, host: str
) -> int:
    """Take the results of reports instead of measuring; a line a host."""
    from .. import read_reports  # noqa: PLC0415

    incident = ""
    if collector is not None and arguments.incident:
        incident = collector.incident(arguments.incident)["id"]
    try:
        by_host, at, troubles = read_reports.results(
            arguments.read, host=host, place=arguments.place, collector=collector
        )
    except read_reports.UnreadableReportError as error:
        terminal.complain(f"rankscope check: {error}")
        return 2
    if collector is not None:
        troubles += read_reports.send(
            collector, by_host, at, place=arguments.place, incident=incident
        )
    for trouble in troubles:
        terminal.complain(f"rankscope check: {trouble}")
    return max((_said(arguments, one, at, rows) for one, rows in by_host.items()), default=0)


def _checked(
    arguments: argparse.Namespace,
    collector: asking.CollectorClient | None,
    host: str,
    plan: "CheckPlan",
    incident: str = "",
) -> "tuple[list[JudgedCheck], float]":
    """Return the results, handed over where there is a collector, and when they were had."""
    from ...checks import node_checks  # noqa: PLC0415
    from ...checks.jobs import TrainerWatch  # noqa: PLC0415
    from .. import fleet_values  # noqa: PLC0415

    fleet = fleet_values.FleetReader(collector, host=host, place=arguments.place)
    results = node_checks.check(plan, watch=TrainerWatch(), fleet=fleet)
    at = time.time()
    troubles = list(fleet.troubles)
    if collector is not None:
        why = fleet_values.send(
            collector, host, at, results, place=arguments.place, incident=incident
        )
        troubles += [why] if why else []
    for trouble in troubles:
        terminal.complain(f"rankscope check: {trouble}")
    return results, at


def _for_incident(
    arguments: argparse.Namespace, collector: asking.CollectorClient, host: str
) -> int:
    """Run the check that gains most; where it cannot be run here, the next one."""
    from .. import separating  # noqa: PLC0415

    document = collector.incident(arguments.incident)
    before = separating.leading(document)
    try:
        chosen = separating.candidates(
            collector, document, host=host, with_peer=arguments.peer is not None
        )
    except separating.NothingToCheckError as error:
        terminal.complain(f"rankscope check: {error}")
        return 2 if error.elsewhere else _said(arguments, host, time.time(), [])
    plan, end = _plan(arguments, host), time.monotonic() + arguments.seconds
    results: list[JudgedCheck] = []
    at = time.time()
    for one in chosen:
        left = end - time.monotonic()
        if left <= 0:
            break
        this = replace(plan, only=(one.check.name,), seconds=left)
        more, at = _checked(arguments, collector, host, this, incident=document["id"])
        results += more
        if any(row.verdict != "not_measured" for row in more):
            after = separating.leading(separating.ranked_again(collector, document, more))
            found = {
                "id": document["id"],
                "check": one.check.name,
                "gain_bits": round(one.gain, 3),
                "device_seconds": one.cost,
                "before": before.document(),
                "after": after.document(),
            }
            code = _said(arguments, host, at, results, incident=found)
            if not arguments.json:
                over = ", resolved: it is not ranked again" if document["resolved_at"] else ""
                print(f"{document['id'][:8]}{over}: {before}; now {after}")
            return code
    return _said(arguments, host, at, results)


def _said(
    arguments: argparse.Namespace,
    host: str,
    at: float,
    results: "Sequence[JudgedCheck]",
    incident: dict[str, Any] | None = None,
) -> int:
    """Print the results; return the exit code."""
    from ...checks import telemetry  # noqa: PLC0415

    document = telemetry.document(host, at, results)
    if arguments.json:
        print(terminal.json_line({**document, "incident": incident} if incident else document))
    else:
        print(_line(host, document["verdict"], results))
        if arguments.verbose:
            _table(results)
    return 1 if document["verdict"] in ("slow", "failed") else 0


def _plan(arguments: argparse.Namespace, host: str) -> "CheckPlan":
    from ...checks import peers  # noqa: PLC0415
    from ...checks.measurements.rows import CheckOrder  # noqa: PLC0415
    from ...checks.node_checks import CheckPlan  # noqa: PLC0415

    peer, port = arguments.peer or ("", None)
    # Its own name first, by which the others reach it; `--host` may be what only people say.
    meets = tuple(name for name in (socket.gethostname(), os.environ.get("MASTER_ADDR")) if name)
    return CheckPlan(
        host=host,
        only=tuple(arguments.only),
        seconds=float(arguments.seconds),
        peer=peer,
        peer_port=port or arguments.port or peers.DEFAULT_PORT,
        own_port=arguments.port or peers.DEFAULT_PORT,
        beside_jobs=arguments.beside_jobs,
        order=CheckOrder("", names=meets, shared_path=arguments.shared),
    )


def _line(host: str, verdict: str, results: "Sequence[JudgedCheck]") -> str:
    """Return all of it in one line: what is wrong, then how many passed, then what nobody knows."""
    parts = [
        f"{row.check} of {row.device} {row.verdict}: {row.reason}"
        + (f" ({row.compared_with})" if row.compared_with else "")
        for row in results
        if row.verdict in ("slow", "failed")
    ]
    passed = sum(row.verdict == "pass" for row in results)
    parts += [f"{passed} passed"] if passed else []
    missing = Counter(row.reason for row in results if row.verdict == "not_measured")
    if missing:
        most, _ = missing.most_common(1)[0]
        often = ", most often because" if len(missing) > 1 else ""
        parts.append(f"{missing.total()} not measured{often}: {most}")
    # Of what was not measured at all the parts say so themselves.
    begin = f"{host}: " if verdict == "not_measured" else f"{host}: {verdict}: "
    return begin + ("; ".join(parts) or "nothing to check")


def _table(results: "Sequence[JudgedCheck]") -> None:
    from ...checks import judging  # noqa: PLC0415

    for row in results:
        value = "" if row.value is None else judging.shown(row.value, row.unit)
        compared = f" ({row.compared_with})" if row.compared_with else ""
        verdict = row.verdict.replace("_", " ")
        print(f"  {row.check:<18}{row.device:<14} {verdict:<13}{value:<13} {row.reason}{compared}")


def _list() -> None:
    from ...vocabulary import checks  # noqa: PLC0415

    for row in checks.runnable().values():
        print(f"{row.name:<18} at most {row.seconds:3.0f} s  {row.help}")


def _unknown(name: str, names: "Sequence[str]") -> str:
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean {near[0]}?" if near else "--list names all"
    return f"there is no check {name!r}; {hint}"


def _names(text: str) -> list[str]:
    return [name for name in text.split(",") if name] or [text]


def _seconds(text: str) -> int:
    number = asking.count(text)
    if number > _MOST_SECONDS:
        raise argparse.ArgumentTypeError(f"{text} s are too long: write at most {_MOST_SECONDS}")
    return number


def _port(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 65_536:
        raise argparse.ArgumentTypeError(f"{text!r} is no port: write a number from 1 to 65535")
    return int(text)


def _peer(text: str) -> tuple[str, int | None]:
    """Return host and port of HOST, HOST:PORT or [ADDRESS]:PORT."""
    if text.count(":") > 1 and not text.startswith("["):
        return text, None  # an address of IPv6 alone
    host, _, port = text.rpartition(":") if ":" in text.rpartition("]")[2] else (text, "", "")
    host = host.strip("[]")
    if not host:
        raise argparse.ArgumentTypeError(f"{text!r} names no host: write HOST or HOST:PORT")
    return host, _port(port) if port else None
