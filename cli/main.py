"""The entry point: finds the verb, runs it, and turns errors into messages and exit codes.

Exit codes: 0 the input was processed; 1 it could not be; 2 wrong use or a missing extra. Only the
standard library is imported here; each verb imports what it needs when it runs.
"""

import argparse
import contextlib
import difflib
import gc
import os
import sys
from collections.abc import Sequence

from . import terminal, verbs

_NEW_OBJECTS = 250_000
"""After so many new objects a short verb looks for garbage. It makes modules, classes and tables
that stay: to look through all of them as often as by default takes a tenth of its time."""

_MATRIX_THREADS = "OPENBLAS_NUM_THREADS"
"""How many threads numpy's library starts as it is imported. One for each CPU costs each verb more
than numpy itself, and would sum long products in an order that the machine decides."""

_USAGE = "usage: rankscope [--help] [--version] VERB ..."


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with these arguments (default: those of the process); return its exit code.

    Raises SystemExit where argparse does: after `--help` (0) and for wrong arguments (2).
    """
    if argv is not None:
        return _main(argv)
    words = sys.argv[1:]
    os.environ.setdefault(_MATRIX_THREADS, "1")
    if words and words[0] in verbs.SERVING:
        return _main(words)
    gc.set_threshold(_NEW_OBJECTS)
    if words and words[0] in verbs.LOADING:
        from . import quick_classes  # noqa: PLC0415  most verbs make too few classes

        quick_classes.install()
    try:
        return _main(words)
    finally:
        gc.freeze()  # the interpreter would look through all that a verb made twice as it ends


def _main(words: Sequence[str]) -> int:
    if not words or words[0] in ("-h", "--help"):
        print(_overview())
        return 0 if words else 2
    if words[0] == "--version":
        from importlib import metadata  # noqa: PLC0415  takes longer than a verb's own start

        print(f"rankscope {metadata.version('rankscope')}")
        return 0
    name, *rest = words
    if name not in verbs.VERBS:
        print(_unknown(name), file=sys.stderr)
        return 2
    return _run(name, rest)


def _run(name: str, words: Sequence[str]) -> int:
    verb = verbs.load(name)
    parser = argparse.ArgumentParser(prog=f"rankscope {name}", description=verb.HELP)
    verb.add_arguments(parser)
    arguments = parser.parse_args(words)
    try:
        # Names and log lines of jobs come out of every verb: none of them may command a terminal.
        with contextlib.redirect_stdout(terminal.PlainOutput(sys.stdout)):
            code = verb.run(arguments)
        sys.stdout.flush()
    except ModuleNotFoundError as error:
        if not _foreign(error) or verb.EXTRA is None:
            raise
        print(
            f"rankscope {name} needs the {verb.EXTRA} extra ({error.name} is not installed): "
            f"pip install 'rankscope[{verb.EXTRA}]'",
            file=sys.stderr,
        )
        return 2
    except BrokenPipeError:
        # Whoever read our output went away (`| head`): say nothing, and keep the interpreter
        # from complaining when it flushes standard output at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        if not _bad_settings(error):
            raise
        terminal.complain(str(error))
        return 2
    return code


def _foreign(error: ModuleNotFoundError) -> bool:
    """Return whether a package of others is missing, and not a module of ours."""
    return error.name is not None and error.name.partition(".")[0] != "rankscope"


def _bad_settings(error: Exception) -> bool:
    """Recognise a SettingsError, without importing the settings package (and pydantic) to ask."""
    settings = sys.modules.get("rankscope.settings")
    return settings is not None and isinstance(error, settings.SettingsError)


def _overview() -> str:
    lines = [
        _USAGE,
        "",
        "Finds what broke in a training job, where, how sure, and on what evidence.",
        "",
    ]
    lines += [f"  {name:<14}{verbs.load(name).HELP}" for name in verbs.VERBS]
    lines += ["", "rankscope VERB --help says more about a verb."]
    return "\n".join(lines)


def _unknown(name: str) -> str:
    near = difflib.get_close_matches(name, verbs.VERBS, n=1)
    hint = f"did you mean {near[0]}?" if near else "rankscope --help lists the verbs"
    return f"rankscope: there is no verb {name!r}; {hint}"


if __name__ == "__main__":
    sys.exit(main())
