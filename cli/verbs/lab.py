"""`rankscope lab`: the fault laboratory. Injects faults, and measures how well they are found."""

import argparse
import importlib.util
import sys

from ..laboratory import arguments as laboratory
from ..laboratory import from_incident
from ..laboratory.complaints import wrong

HELP = "the fault laboratory: inject faults into simulated or real jobs, score the detectors"
EXTRA: str | None = "lab"

_REAL_RANKS = 4


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the actions and their arguments."""
    laboratory.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the action."""
    if arguments.action == "recovery":
        return _recovery(arguments)
    if arguments.action == "from-incident":
        return from_incident.run(arguments)
    if arguments.action == "list":
        return _list(arguments)
    if arguments.action == "score":
        return _score(arguments)
    if arguments.action == "learn":
        return _learn(arguments)
    injected = arguments.fault is not None or arguments.mechanism is not None
    if (arguments.scenario is None) != injected:
        return wrong("give either a scenario or --fault ID; `rankscope lab list` shows both")
    if not injected:
        return _record(arguments)
    if arguments.mechanism is not None and not arguments.real:
        return wrong("--mechanism is for --real")
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
    from ...lab.learning.options import Options  # noqa: PLC0415

    if arguments.picture is not None and not arguments.calibrate:
        return wrong("--picture is for --calibrate")
    usual = calibrate.SEEDS if arguments.calibrate else command.SEEDS
    options = Options(
        results=arguments.results,
        seeds=tuple(arguments.seed or usual),
        version=arguments.version,
        write=arguments.write,
        as_json=arguments.json,
        collected_only=arguments.collected,
        picture=arguments.picture,
    )
    return calibrate.calibrate(options) if arguments.calibrate else command.learn(options)


def _record(arguments: argparse.Namespace) -> int:
    from ...lab import recordings  # noqa: PLC0415

    if arguments.real or arguments.ranks is not None or arguments.weak:
        return wrong("--real, --ranks and --weak are for --fault; a scenario has its own job")
    if arguments.out is None:
        return wrong("--out FILE is needed to record a scenario")
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
        return wrong(f"{missing} (real: {', '.join(demo.FAULTS)})")
    names = [one.name for one in mechanisms.MECHANISMS]
    if arguments.mechanism not in (None, *names):
        return wrong(f"--mechanism: one of {', '.join(names)}")
    if arguments.ranks not in (None, _REAL_RANKS):
        return wrong(f"--ranks: a real job here has {_REAL_RANKS} ranks")
    if arguments.out is not None or arguments.weak:
        return wrong("--out and --weak are for a simulated job")
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
        return wrong(
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
        without=tuple(arguments.without),
        at_most=arguments.at_most,
    )
    return command.score(options)


def _recovery(arguments: argparse.Namespace) -> int:
    if importlib.util.find_spec("torch") is None:
        return wrong("recovery runs a torchrun job: pip install torch")
    from ...lab.recovery import course  # noqa: PLC0415

    return course.run(as_json=arguments.json, out=sys.stderr)
