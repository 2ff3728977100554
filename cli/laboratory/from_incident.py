"""`rankscope lab from-incident`: an incident of a collector, or of its data folder, as a file."""

import argparse
import json
import sys
from pathlib import Path

from .. import asking
from .complaints import wrong, wrong_name


def run(arguments: argparse.Namespace) -> int:
    """Cut the incident out and write it; return the exit code."""
    from ...lab import from_incident  # noqa: PLC0415  only this action needs numpy

    out: Path = arguments.out or Path(f"incident-{arguments.id}.jsonl.gz")
    if text := wrong_name(out):
        return wrong(text)
    if arguments.data is not None and arguments.url is not None:
        return wrong("give either --data or --url")
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
            collector = asking.CollectorClient.of(arguments)
            lines, head = collector.lines(
                "incidents",
                arguments.id,
                "recording",
                before_seconds=str(before_seconds),
                anonymise=str(arguments.anonymise).lower(),
            )
            taken = from_incident.TakenRecording(lines, json.loads(head["rankscope-truth"]))
        count, truth = from_incident.write(taken, out)
    except (from_incident.FromIncidentError, asking.CollectorAnswerError) as error:
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
