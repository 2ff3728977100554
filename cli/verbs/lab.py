"""`rankscope lab`: the fault laboratory. Injects faults, and measures how well they are found."""

import argparse
import importlib.util
import json
import sys
from pathlib import Path

from .. import asking

HELP = "the fault laboratory: inject faults into simulated or real jobs, score the detectors"
EXTRA: str | None = "lab"

SUITES = ("tuning", "published", "holdout", "fresh", "pairs", "quiet")
_REAL_RANKS = 4


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the actions and their arguments."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="list the faults and the scenarios")
    listing.add_argument("--json", action="store_true", help="one JSON object a line")
    _add_run(actions.add_parser("run", help="inject one fault, or record a scenario"))
    _add_score(actions.add_parser("score", help="run a suite of cases and score what is found"))
    _add_learn(actions.add_parser("learn", help="learn the weights of the catalogue of causes"))
    recovery = actions.add_parser(
        "recovery", help="a real job under a recovery controller: evict, restart, measure"
    )
    recovery.add_argument("--json", action="store_true", help="what was measured, as JSON")
    _add_from_incident(
        actions.add_parser("from-incident", help="cut an incident's recording out of the journal")
    )


def _add_learn(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--results",
        type=Path,
        default=Path("lab-results/learning"),
        metavar="DIR",
        help="folder that keeps collected cases (default: lab-results/learning)",
    )
    parser.add_argument(
        "--seed",
        type=int,
        action="append",
        metavar="N",
        help="a seed of suite fresh to learn from beside tuning (default: 11 and 12; with "
        "--calibrate 20261210 and 20261211)",
    )
    parser.add_argument(
        "--collected", action="store_true", help="learn from what is in the folder; run nothing"
    )
    parser.add_argument(
        "--calibrate",
        action="store_true",
        help="fit the probabilities alone, to suite fresh, its healthy cases too",
    )
    parser.add_argument(
        "--picture", type=Path, metavar="FILE", help="with --calibrate: the reliability as SVG"
    )
    parser.add_argument(
        "--write", action="store_true", help="write the numbers into the catalogue's files"
    )
    parser.add_argument("--version", default="", help="version of the catalogue to write")
    parser.add_argument("--json", action="store_true", help="the result as one JSON document")


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "scenario", nargs="?", help="a scenario that `rankscope lab list` shows, to be recorded"
    )
    parser.add_argument("--fault", metavar="ID", help="inject this fault and show what is found")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--simulated", action="store_true", help="into a simulated job (default)")
    where.add_argument(
        "--real", action="store_true", help="into a real training job on this machine, of 4 ranks"
    )
    parser.add_argument(
        "--mechanism",
        metavar="NAME",
        help="how to make it happen in the real job, where `rankscope lab list` shows several ways",
    )
    parser.add_argument("--ranks", type=int, metavar="N", help="ranks of the job (default: 16)")
    parser.add_argument("--weak", action="store_true", help="an effect of 5-10 %%, or a faint sign")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="default: 0")
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="recording to write, *.jsonl or *.jsonl.gz"
    )
    parser.add_argument("--json", action="store_true", help="truth and incidents as JSON")


def _add_score(parser: argparse.ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--suite", metavar="NAME", help=f"one of {', '.join(SUITES)}")
    what.add_argument(
        "--recordings",
        type=Path,
        metavar="FOLDER",
        help="recordings with truth files, as from-incident writes them",
    )
    what.add_argument(
        "--compare",
        nargs=2,
        type=Path,
        metavar=("A.json", "B.json"),
        help="compare two results of --json; the exit code is 1 where they differ",
    )
    parser.add_argument(
        "--within",
        type=float,
        default=3.0,
        metavar="POINTS",
        help="how many points two results may differ (default: 3)",
    )
    parser.add_argument("--seed", type=int, metavar="N", help="what fresh (or quiet) is drawn from")
    parser.add_argument(
        "--hours", type=float, default=24.0, help="simulated hours of quiet (default: 24)"
    )
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="ID",
        help="only the cases of this fault; may be repeated",
    )
    parser.add_argument("--jobs", type=int, default=0, metavar="N", help="default: every core")
    parser.add_argument(
        "--results",
        type=Path,
        default=Path("lab-results"),
        metavar="DIR",
        help="folder that keeps results, so that a run can be resumed (default: lab-results)",
    )
    parser.add_argument("--restart", action="store_true", help="forget the results of this suite")
    parser.add_argument("--no-baselines", action="store_true", help="leave out the simple methods")
    parser.add_argument("--json", action="store_true", help="the result as one JSON document")
    parser.add_argument("--docs", type=Path, metavar="DIR", help="write accuracy.md and pictures")


def _add_from_incident(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", help="the incident's id")
    parser.add_argument(
        "--data", type=Path, metavar="DIR", help="a collector's data folder, instead of --url"
    )
    asking.add_arguments(parser)
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="recording to write, *.jsonl or *.jsonl.gz (default: incident-ID.jsonl.gz); with "
        "feedback *.truth.json is written beside it",
    )
    parser.add_argument(
        "--before",
        type=float,
        default=15.0,
        metavar="MINUTES",
        help="how much from before the onset (default: 15)",
    )
    parser.add_argument(
        "--anonymise",
        action="store_true",
        help="replace jobs, hosts, devices, users and log texts, consistently; keep ranks",
    )
    parser.add_argument("--json", action="store_true", help="what was written, as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Run the action."""
    if arguments.action == "recovery":
        return _recovery(arguments)
    if arguments.action == "from-incident":
        return _from_incident(arguments)
    if arguments.action == "list":
        return _list(arguments)
    if arguments.action == "score":
        return _score(arguments)
    if arguments.action == "learn":
        return _learn(arguments)
    injected = arguments.fault is not None or arguments.mechanism is not None
    if (arguments.scenario is None) != injected:
        return _wrong("give either a scenario or --fault ID; `rankscope lab list` shows both")
    if not injected:
        return _record(arguments)
    if arguments.mechanism is not None and not arguments.real:
        return _wrong("--mechanism is for --real")
    return _real(arguments) if arguments.real else _simulated(arguments)


def _list(arguments: argparse.Namespace) -> int:
    from ...lab import catalogue, recordings  # noqa: PLC0415  only this verb needs numpy

    if not arguments.json:
        print("Faults, by contract id: rankscope lab run --fault ID [--real]")
    catalogue.show(as_json=arguments.json)
    if not arguments.json:
        print("\nScenarios: rankscope lab run SCENARIO --out FILE")
    return recordings.show(as_json=arguments.json)


def _learn(arguments: argparse.Namespace) -> int:
    from ...lab.learning import calibrate, command  # noqa: PLC0415

    if arguments.calibrate:
        return calibrate.calibrate(
            calibrate.Options(
                results=arguments.results,
                seeds=tuple(arguments.seed or calibrate.SEEDS),
                version=arguments.version,
                write=arguments.write,
                as_json=arguments.json,
                collected_only=arguments.collected,
                picture=arguments.picture,
            )
        )
    if arguments.picture is not None:
        return _wrong("--picture is for --calibrate")
    return command.learn(
        command.Options(
            results=arguments.results,
            seeds=tuple(arguments.seed or command.SEEDS),
            version=arguments.version,
            write=arguments.write,
            as_json=arguments.json,
            collected_only=arguments.collected,
        )
    )


def _record(arguments: argparse.Namespace) -> int:
    from ...lab import recordings  # noqa: PLC0415

    if arguments.real or arguments.ranks is not None or arguments.weak:
        return _wrong("--real, --ranks and --weak are for --fault; a scenario has its own job")
    if arguments.out is None:
        return _wrong("--out FILE is needed to record a scenario")
    return recordings.record(
        arguments.scenario, out=arguments.out, seed=arguments.seed, as_json=arguments.json
    )


def _simulated(arguments: argparse.Namespace) -> int:
    from ...lab import trial  # noqa: PLC0415
    from ..report import incident_report  # noqa: PLC0415

    chosen = trial.Trial(
        arguments.fault,
        ranks=trial.RANKS if arguments.ranks is None else arguments.ranks,
        seed=arguments.seed,
        strength="weak" if arguments.weak else "plain",
        out=arguments.out,
    )
    return trial.run(chosen, incident_report, as_json=arguments.json)


def _real(arguments: argparse.Namespace) -> int:
    from ...lab import catalogue, mechanisms  # noqa: PLC0415
    from . import demo  # noqa: PLC0415

    if arguments.fault not in (None, *demo.FAULTS):
        missing = catalogue.missing(arguments.fault, "inject into a real job", demo.FAULTS)
        return _wrong(f"{missing} (real: {', '.join(demo.FAULTS)})")
    names = [one.name for one in mechanisms.MECHANISMS]
    if arguments.mechanism not in (None, *names):
        return _wrong(f"--mechanism: one of {', '.join(names)}")
    if arguments.ranks not in (None, _REAL_RANKS):
        return _wrong(f"--ranks: a real job here has {_REAL_RANKS} ranks")
    if arguments.out is not None or arguments.weak:
        return _wrong("--out and --weak are for a simulated job")
    words = ["--once", *(["--json"] if arguments.json else [])]
    for option in ("fault", "mechanism"):
        value = getattr(arguments, option)
        words += [] if value is None else [f"--{option}", value]
    parser = argparse.ArgumentParser()
    demo.add_arguments(parser)
    return demo.run(parser.parse_args(words))


def _score(arguments: argparse.Namespace) -> int:
    from ...lab.scoring import command  # noqa: PLC0415

    if arguments.recordings is not None:
        from ...lab.scoring import recordings  # noqa: PLC0415

        return recordings.score(arguments.recordings, as_json=arguments.json)
    if arguments.compare is not None:
        return command.compare(arguments.compare, arguments.within, as_json=arguments.json)
    simple = not arguments.no_baselines and arguments.suite != "quiet"
    if simple and importlib.util.find_spec("sklearn") is None:
        return _wrong(
            "the simple methods need scikit-learn (pip install 'rankscope[analysis]'); leave them "
            "out with --no-baselines"
        )
    options = command.Options(
        suite=arguments.suite,
        seed=arguments.seed,
        hours=arguments.hours,
        only=tuple(arguments.only),
        jobs=max(arguments.jobs, 0),
        results=arguments.results,
        restart=arguments.restart,
        with_baselines=not arguments.no_baselines,
        as_json=arguments.json,
        docs=arguments.docs,
    )
    return command.score(options)


def _recovery(arguments: argparse.Namespace) -> int:
    if importlib.util.find_spec("torch") is None:
        return _wrong("recovery runs a torchrun job: pip install torch")
    from ...lab.recovery import course  # noqa: PLC0415

    return course.run(as_json=arguments.json, out=sys.stderr)


def _from_incident(arguments: argparse.Namespace) -> int:
    from ...lab import from_incident  # noqa: PLC0415

    out: Path = arguments.out or Path(f"incident-{arguments.id}.jsonl.gz")
    if not out.name.endswith((".jsonl", ".jsonl.gz")):
        return _wrong("--out: the name of a recording ends in .jsonl or .jsonl.gz")
    if arguments.data is not None and arguments.url is not None:
        return _wrong("give either --data or --url")
    before_seconds = arguments.before * 60
    try:
        if arguments.data is not None:
            taken = from_incident.of_data(
                arguments.data,
                arguments.id,
                before_seconds=before_seconds,
                anonymise=arguments.anonymise,
            )
        else:
            collector = asking.Collector.of(arguments)
            lines, head = collector.lines(
                "incidents",
                arguments.id,
                "recording",
                before_seconds=str(before_seconds),
                anonymise=str(arguments.anonymise).lower(),
            )
            taken = from_incident.Taken(lines, json.loads(head["rankscope-truth"]))
        count, truth = from_incident.write(taken, out)
    except (from_incident.FromIncidentError, asking.AskingError) as error:
        print(f"rankscope lab from-incident: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"{out}: {error.strerror}", file=sys.stderr)
        return 1
    if arguments.json:
        row = {"file": str(out), "lines": count, "truth": None if truth is None else str(truth)}
        print(json.dumps(row))
        return 0
    print(f"{out}: {count:,} lines, {out.stat().st_size:,} bytes")
    if truth is None:
        print("no truth file: no feedback names what it was (POST /incidents/{id}/feedback)")
    else:
        print(f"{truth}: {taken.truth['fault']}")
    print(f"rankscope replay {out}")
    return 0


def _wrong(text: str) -> int:
    print(f"rankscope lab: {text}", file=sys.stderr)
    return 2
