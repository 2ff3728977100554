"""`rankscope demo`: a real training job on this machine, one fault, and its incident explained."""

import argparse
import importlib.util
import sys
from pathlib import Path

from ...lab import mechanisms
from ..laboratory import real_job
from ..laboratory.real_job import FAULTS

HELP = "run a training job on this machine, inject one fault, print the explained incident"
EXTRA: str | None = "lab"

HEALTHY = mechanisms.healthy()
TRAINERS = ("auto", "torch", "numpy")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--fault",
        choices=FAULTS,
        metavar="FAULT_ID",
        help=f"the fault to inject: {', '.join(FAULTS)} (default: {FAULTS[0]})",
    )
    parser.add_argument(
        "--mechanism",
        choices=[one.name for one in mechanisms.MECHANISMS],
        metavar="NAME",
        help="how to make it happen, where there are several ways: "
        + "; ".join(f"{fault}: {', '.join(names)}" for fault, names in _ways().items())
        + f"; no fault at all: {', '.join(HEALTHY)}",
    )
    parser.add_argument(
        "--once",
        action="store_true",
        help="end after the report; without it the console stays up",
    )
    parser.add_argument(
        "--act",
        action="store_true",
        help="a rank of a torchrun job is stopped; the collector finds it, orders the smallest "
        "action, which is done, and says whether the job recovered",
    )
    parser.add_argument(
        "--trainer",
        choices=TRAINERS,
        default="auto",
        help="the training job: torch with gloo where torch is importable, else numpy",
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="print the incident document on standard output, progress on standard error",
    )
    parser.add_argument(
        "--collector",
        metavar="URL",
        help="show it on a collector that runs already, as a job of its own, in the place of one "
        "that ends with the demo",
    )
    parser.add_argument(
        "--token-file",
        type=Path,
        metavar="FILE",
        help="holds a bearer token of role read for --collector",
    )
    parser.add_argument(
        "--listen",
        type=_address,
        default="127.0.0.1:9471",
        metavar="HOST:PORT",
        help="with --collector: /metrics of the first agent, and on the next port that of the "
        "second (default: 127.0.0.1:9471)",
    )


def _acting(arguments: argparse.Namespace) -> int:
    """Run the course in which the collector acts."""
    given = [name for name in ("fault", "mechanism", "collector") if getattr(arguments, name)]
    if given:
        print(f"rankscope demo: --act goes without --{given[0]}", file=sys.stderr)
        return 2
    if importlib.util.find_spec("torch") is None:
        print("rankscope demo: --act runs a torchrun job: pip install torch", file=sys.stderr)
        return 2
    from ...lab.recovery import course  # noqa: PLC0415  heavy

    out = sys.stderr if arguments.json else sys.stdout
    return course.run(as_json=arguments.json, out=out, actions=True, stay=not arguments.once)


def _address(text: str) -> tuple[str, int]:
    """Return host (empty: every address) and port."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdigit():
        raise argparse.ArgumentTypeError(f"{text} is not HOST:PORT")
    return host, int(port)


def _ways() -> dict[str, list[str]]:
    """Return the names of the mechanisms of each fault that has several."""
    named = {fault: [one.name for one in mechanisms.of_fault(fault)] for fault in FAULTS}
    return {fault: names for fault, names in named.items() if len(names) > 1}


def run(arguments: argparse.Namespace) -> int:
    """Run the demo; 0 only when the injected fault is the first cause at the right place.

    With --act: when the job recovered by what the collector ordered.
    """
    if arguments.act:
        return _acting(arguments)
    elsewhere = None
    if arguments.collector:
        from ...lab.demo.stage import RemoteCollector  # noqa: PLC0415  heavy

        try:
            token = arguments.token_file.read_text().strip() if arguments.token_file else ""
        except OSError as error:
            print(f"rankscope demo: cannot read {arguments.token_file}: {error}", file=sys.stderr)
            return 2
        elsewhere = RemoteCollector(arguments.collector.rstrip("/"), token, arguments.listen)
    return real_job.run(
        arguments.fault,
        arguments.mechanism,
        once=arguments.once,
        trainer=arguments.trainer,
        as_json=arguments.json,
        elsewhere=elsewhere,
    )
