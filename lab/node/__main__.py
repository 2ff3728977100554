"""Run any command on a node that has GPUs as far as NVML says, and none in truth.

    python -m rankscope.lab.node --gpus 8 --profile H100 -- rankscope agent

The scenario file is named at the start; a line added to it while the command runs takes effect
within 20 ms: `echo 'gpu3.state = lost' >> FILE`, `echo 'gpu0.xid = 1:79' >> FILE`.
"""

import argparse
import os
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from . import nvml


def main(argv: Sequence[str] | None = None) -> int:
    """Return the command's exit code (128 and the signal's number where one ended it)."""
    arguments = _parser().parse_args(argv)
    command: list[str] = arguments.command
    if command[:1] == ["--"]:
        del command[0]
    if not command:
        _parser().error("no command: put it after --, for example -- rankscope doctor")
    with tempfile.TemporaryDirectory(prefix="rankscope-node-") as folder:
        try:
            scenario = nvml.NvmlScenario(
                arguments.folder or Path(folder),
                profile=arguments.profile,
                gpus=arguments.gpus,
                busy=not arguments.idle,
            )
            environment = scenario.environment()
        except (KeyError, nvml.NoCompilerError) as error:
            _parser().error(str(error.args[0]))
        kind = scenario.get("all", "name")
        print(f"{arguments.gpus} x {kind}, scenario {scenario.path}", file=sys.stderr)
        print(f"running {shlex.join(command)}", file=sys.stderr, flush=True)
        return _run(command, environment)


def _run(command: Sequence[str], environment: dict[str, str]) -> int:
    try:
        child = subprocess.Popen(command, env={**os.environ, **environment})
    except OSError as error:
        print(f"{command[0]}: {error.strerror}", file=sys.stderr)
        return 127
    # A terminal sends its interrupt to the command, too; other signals are for us to pass on.
    before = {signal.SIGINT: signal.signal(signal.SIGINT, signal.SIG_IGN)}
    for number in (signal.SIGTERM, signal.SIGHUP):
        before[number] = signal.signal(number, lambda got, _: child.send_signal(got))
    try:
        code = child.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return code if code >= 0 else 128 - code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m rankscope.lab.node",
        description="Run a command with GPUs that only NVML knows of.",
    )
    parser.add_argument("--gpus", type=int, default=8, help="how many (default 8)")
    parser.add_argument(
        "--profile", default="H100", help="their kind: A100, B200, H100, L40S or T4 (default H100)"
    )
    parser.add_argument("--idle", action="store_true", help="idle ones, not ones at work")
    parser.add_argument("--folder", type=Path, help="keep the scenario file here")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="after --")
    return parser


if __name__ == "__main__":
    sys.exit(main())
