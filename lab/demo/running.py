"""What a demo needs around its course: a folder, processes that end with it, an exit code."""

import json
import shutil
from collections.abc import Callable
from typing import Any, TextIO

from ..mechanisms import FaultMechanism
from .client import DemoClient
from .flow import DemoError, DemoRun
from .processes import DemoProcesses, leave_on_signals
from .stage import DemoStage, RemoteCollector, new_folder
from .unsupported import InjectionUnsupportedError

Report = Callable[[dict[str, Any]], str]


def run(
    *,
    mechanism: FaultMechanism,
    once: bool,
    trainer: str,
    as_json: bool,
    out: TextIO,
    report: Report,
    elsewhere: RemoteCollector | None = None,
) -> int:
    """Run the demo; return 0 only if the injected fault is the first cause at the right entity.

    Progress goes to `out`; `report` turns the incident document into text. With `elsewhere` the
    collector is one that runs already.
    """
    leave_on_signals()
    try:
        demo = DemoRun(mechanism=mechanism, trainer=trainer, out=out)
    except InjectionUnsupportedError as error:
        print(f"cannot be injected here: {error}", file=out, flush=True)
        return 1
    folder = new_folder()
    logs = folder / "logs"
    logs.mkdir()
    right = False
    try:
        with DemoProcesses(logs) as processes, demo.interruptible():
            stage = DemoStage(folder, processes, demo.hosts, mechanism, elsewhere)
            client = DemoClient(stage.address, elsewhere.token if elsewhere else "")
            document, verdict = demo.play(stage, client)
            right = verdict.right
            if as_json:
                print(json.dumps(document), flush=True)
            elif document is not None:
                print(f"\n{report(document)}\n", file=out)
            demo.conclude(verdict)
            if not once:
                demo.stay(stage)
    except InjectionUnsupportedError as error:
        demo.say(f"cannot be injected here: {error}")
    except DemoError as error:
        demo.say(f"the demo failed: {error}")
    finally:
        if right:
            shutil.rmtree(folder, ignore_errors=True)
        else:
            print(f"logs are in {logs}", file=out, flush=True)
    return 0 if right else 1
