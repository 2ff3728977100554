"""The page of the command line, read from each verb's argument parser."""

import argparse

from rankscope.cli import verbs

from .tables import NOTE, code, table


def page() -> str:
    """Return docs/reference/cli.md."""
    text = NOTE + (
        "# Command line\n\n"
        "Exit codes of every verb: 0 the input was processed, 1 it could not be, 2 wrong use or a\n"
        "missing extra (the answer names the command that installs it).\n"
    )
    for name in verbs.VERBS:
        verb = verbs.load(name)
        parser = argparse.ArgumentParser(prog=f"rankscope {name}", add_help=False)
        verb.add_arguments(parser)
        needs = f" Needs `rankscope[{verb.EXTRA}]`." if verb.EXTRA else ""
        text += f"\n## rankscope {name}\n\n{_sentence(verb.HELP)}{needs}\n"
        text += _arguments(parser)
    return text


def _arguments(parser: argparse.ArgumentParser) -> str:
    rows = []
    inner = ""
    for action in parser._actions:  # noqa: SLF001  argparse has no public way to list them
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            helps = {choice.dest: choice.help or "" for choice in action._choices_actions}  # noqa: SLF001
            for name, child in action.choices.items():
                inner += f"\n### {child.prog.removesuffix(name).strip()} {name}\n\n"
                inner += f"{_sentence(helps.get(name, ''))}\n"
                inner += _arguments(child)
        elif not isinstance(action, argparse._HelpAction):  # noqa: SLF001
            rows.append((code(_spelling(action)), _default(action), _meaning(parser, action)))
    head = "\n" + table(("argument", "default", "meaning"), rows) if rows else ""
    return head + inner


def _meaning(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    """Return the help as `--help` prints it, less a default that stands in its own column."""
    if not action.help:
        return ""
    shown = action.help
    action.help = shown.replace(" (default: %(default)s)", "")
    try:
        return parser._get_formatter()._expand_help(action)  # noqa: SLF001  no public way either
    finally:
        action.help = shown


def _spelling(action: argparse.Action) -> str:
    metavar = " ".join(action.metavar) if isinstance(action.metavar, tuple) else action.metavar
    if action.choices and not metavar:
        metavar = "|".join(map(str, action.choices))
    if not action.option_strings:
        return metavar or action.dest
    spelled = ", ".join(action.option_strings)
    return spelled if action.nargs == 0 else f"{spelled} {metavar or action.dest.upper()}"


def _default(action: argparse.Action) -> str:
    if action.nargs == 0 or action.default in (None, argparse.SUPPRESS):
        return ""
    return code(action.default)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}." if text else ""
