"""The settings file: YAML with the booleans of YAML 1.2, its keys with their lines.

YAML 1.1, which PyYAML reads, turns `off` into false, `1:30` into 90 and `012` into 10. Here only
true and false are booleans and only plain decimal numbers are numbers; everything else is text.
"""

import re
from pathlib import Path

import yaml

from .contents import SettingsFile
from .errors import SettingsProblem

LARGEST = 1 << 20
"""Bytes of a settings file: far above any real one, so that a wrong path is refused early."""


class _StrictLoader(yaml.SafeLoader):
    """SafeLoader without the surprises of YAML 1.1."""


_StrictLoader.yaml_implicit_resolvers = {}
_RESOLVERS: tuple[tuple[str, str, str], ...] = (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?(?:0|[1-9][0-9]{0,299})", "-+0123456789"),  # Python refuses to read longer ones
    ("float", r"[-+]?(?:\.[0-9]+|[0-9]+\.[0-9]*)(?:[eE][-+]?[0-9]+)?", "-+.0123456789"),
    ("float", r"[-+]?[0-9]+[eE][-+]?[0-9]+", "-+0123456789"),
    ("null", r"~|null|Null|NULL|", "~nN"),
    ("merge", r"<<", "<"),
)
for _name, _pattern, _first in _RESOLVERS:
    _starts: list[str | None] = [*_first, *([""] if _name == "null" else [])]
    _StrictLoader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_name}", re.compile(rf"^(?:{_pattern})$"), _starts
    )


def read(path: Path) -> SettingsFile:
    """Return what a settings file holds; every problem is in the result, none is raised."""
    found = SettingsFile()
    name = str(path)
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise ValueError(f"more than {LARGEST} bytes")
        text = data.decode("utf-8")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        found.problems.append(
            SettingsProblem(
                name, "", f"cannot be read: {reason}", "give a readable YAML file in UTF-8"
            )
        )
        return found
    try:
        loader = _StrictLoader(text)
        root = loader.get_single_node()
        if root is None or root.tag == "tag:yaml.org,2002:null":
            return found  # an empty file, or one of comments only: all defaults
        if not isinstance(root, yaml.MappingNode):
            found.problems.append(
                SettingsProblem(
                    f"{name}:1", "", "not a mapping of keys", "write `section:` and keys below"
                )
            )
            return found
        _note(root, (), name, found, set())
        if found.problems:
            return found
        found.values = loader.construct_document(root)
    except yaml.YAMLError as error:
        # The error's own text quotes the line it stumbled on, secrets and all: keep the place only.
        mark = getattr(error, "problem_mark", None)
        where = f"{name}:{mark.line + 1}" if mark else name
        what = getattr(error, "problem", None) or "a character that YAML does not allow"
        found.problems.append(
            SettingsProblem(
                where, "", f"not YAML: {_plain(what)}", "correct this line or the one above"
            )
        )
    except RecursionError:
        problem = "values lie too deep in one another"
        found.problems.append(
            SettingsProblem(name, "", problem, "write sections as the page shows")
        )
    return found


def _plain(problem: str) -> str:
    """Return a parser's words without what it quotes from the file."""
    return re.sub(r"'(?:[^']{2,})'|\"(?:[^\"]{2,})\"", "(...)", problem)


def _note(
    node: yaml.Node, path: tuple[str | int, ...], name: str, found: SettingsFile, open_: set[int]
) -> None:
    """Record the line of every key below a node, and keys that cannot stand as they do."""
    if id(node) in open_:
        found.problems.append(
            SettingsProblem(
                f"{name}:{node.start_mark.line + 1}",
                _dotted(path),
                "an anchor that contains itself",
                "write the value out",
            )
        )
        return
    open_.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            found.lines[(*path, index)] = item.start_mark.line + 1
            _note(item, (*path, index), name, found, open_)
    elif isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            line = key.start_mark.line + 1
            if key.tag == "tag:yaml.org,2002:merge":
                _note(value, path, name, found, open_)
                continue
            if not isinstance(key, yaml.ScalarNode) or key.tag != "tag:yaml.org,2002:str":
                found.problems.append(
                    SettingsProblem(
                        f"{name}:{line}",
                        _dotted(path),
                        "a key that is not text",
                        "write the key as a word, in quotes if it looks like a number",
                    )
                )
                continue
            inner = (*path, key.value)
            if key.value in seen:
                found.problems.append(
                    SettingsProblem(
                        f"{name}:{line}",
                        _dotted(inner),
                        f"given twice, first on line {found.lines[inner]}",
                        "keep one of them",
                    )
                )
            seen.add(key.value)
            found.lines.setdefault(inner, line)
            _note(value, inner, name, found, open_)
    open_.discard(id(node))


def _dotted(path: tuple[str | int, ...]) -> str:
    return ".".join(str(part) for part in path)
