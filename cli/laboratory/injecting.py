"""`rankscope lab run`: injects a fault into a simulated or a real job, or records a scenario."""

import argparse

from . import real_job
from .complaints import wrong, wrong_name

_REAL_RANKS = 4


def run(arguments: argparse.Namespace) -> int:
    """Record the scenario or inject the fault; return the exit code."""
    injected = arguments.fault is not None or arguments.mechanism is not None
    if (arguments.scenario is None) != injected:
        return wrong("give either a scenario or --fault ID; `rankscope lab list` shows both")
    if arguments.seed < 0:
        return wrong("--seed: at least 0")
    if not injected:
        return _record(arguments)
    if arguments.mechanism is not None and not arguments.real:
        return wrong("--mechanism is for --real")
    return _real(arguments) if arguments.real else _simulated(arguments)


def _record(arguments: argparse.Namespace) -> int:
    from ...lab import recordings  # noqa: PLC0415  only this verb needs numpy
    from ...lab.simulator import scenarios  # noqa: PLC0415
    from ...lab.simulator.shape import ScenarioError  # noqa: PLC0415

    if arguments.real or arguments.ranks is not None or arguments.weak:
        return wrong("--real, --ranks and --weak are for --fault; a scenario has its own job")
    try:
        scenarios.named(arguments.scenario)
    except ScenarioError as error:
        return wrong(str(error))
    if arguments.out is None:
        return wrong("--out FILE is needed to record a scenario")
    if text := wrong_name(arguments.out):
        return wrong(text)
    return recordings.record(
        arguments.scenario, out=arguments.out, seed=arguments.seed, as_json=arguments.json
    )


def _simulated(arguments: argparse.Namespace) -> int:
    from ...lab import trial  # noqa: PLC0415
    from ..report import incident_report  # noqa: PLC0415

    if arguments.out is not None and (text := wrong_name(arguments.out)):
        return wrong(text)
    chosen = trial.LabTrial(
        arguments.fault,
        ranks=arguments.ranks,
        seed=arguments.seed,
        strength="weak" if arguments.weak else "plain",
        out=arguments.out,
    )
    return trial.run(chosen, incident_report, as_json=arguments.json)


def _real(arguments: argparse.Namespace) -> int:
    if text := _impossible(arguments.fault, arguments.mechanism):
        return wrong(text)
    if arguments.ranks not in (None, _REAL_RANKS):
        return wrong(f"--ranks: a real job here has {_REAL_RANKS} ranks")
    if arguments.out is not None or arguments.weak:
        return wrong("--out and --weak are for a simulated job")
    return real_job.run(arguments.fault, arguments.mechanism, once=True, as_json=arguments.json)


def _impossible(fault: str | None, mechanism: str | None) -> str | None:
    """Return why a real job cannot have this; None where it can."""
    from ...lab import catalogue, mechanisms  # noqa: PLC0415

    real = mechanisms.faults()
    names = [one.name for one in mechanisms.MECHANISMS]
    if fault is not None and fault not in real:
        missing = catalogue.missing(fault, "inject into a real job", real)
        return missing if fault in names else f"{missing} (real: {', '.join(real)})"
    if mechanism is None:
        return None
    if fault is not None:
        ways = [one.name for one in mechanisms.of_fault(fault)]
        if mechanism not in ways:
            return f"--mechanism: {fault} is injected by {', '.join(ways)}, not by {mechanism}"
    elif mechanism not in names:
        return f"--mechanism: one of {', '.join(names)}"
    return None
