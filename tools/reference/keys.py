"""The page of settings, read from the two root models."""

import json
import typing
from pathlib import Path
from types import UnionType
from typing import Any, Literal

from pydantic import BaseModel, SecretStr

from rankscope.agent.settings import AgentSettings
from rankscope.collector.settings.collector import CollectorSettings
from rankscope.settings import sections

from .tables import NOTE, code, table


def page() -> str:
    """Return docs/reference/settings.md."""
    text = NOTE + (
        "# Settings\n\n"
        "One YAML file a process (`--config FILE`), and every key as an environment variable,\n"
        "which wins over the file. Sections are YAML mappings: `push.endpoint` is the key\n"
        "`endpoint` under `push`. A list as a variable is JSON, or plain words between commas. An\n"
        "unknown key or a bad value stops the start; `rankscope check-config FILE` says the same\n"
        "without starting.\n"
    )
    for name, model in (("agent", AgentSettings), ("collector", CollectorSettings)):
        text += f"\n## rankscope {name}\n\n"
        text += table(
            ("key", "variable", "default", "meaning"),
            (
                (code(key.dotted), code(key.variable), _default(key), _meaning(key))
                for key in sections.keys(model)
            ),
        )
        for title, inner in _listed(model):
            text += f"\nEach entry of `{title}`:\n\n"
            text += table(
                ("key", "default", "meaning"),
                ((code(key.dotted), _default(key), _meaning(key)) for key in sections.keys(inner)),
            )
    return text


def _listed(model: type[BaseModel]) -> list[tuple[str, type[BaseModel]]]:
    """Return the models that stand in lists: they have keys of their own, but no variable."""
    return [
        (key.dotted, part)
        for key in sections.keys(model)
        for part in typing.get_args(key.annotation)
        if isinstance(part, type) and issubclass(part, BaseModel)
    ]


def _meaning(key: sections.SettingsKey) -> str:
    choices = _choices(key.annotation)
    return f"{key.help} ({' | '.join(choices)})" if choices else key.help


def _choices(annotation: Any) -> list[str]:
    if typing.get_origin(annotation) is Literal:
        return [str(value) for value in typing.get_args(annotation)]
    if isinstance(annotation, UnionType):
        return [word for part in typing.get_args(annotation) for word in _choices(part)]
    return []


def _default(key: sections.SettingsKey) -> str:
    value = key.default
    if key.required:
        return "required"
    if key.dotted == "node.host":
        return "the host's name"  # its value is this machine's
    if value is None or value in ("", (), {}) or isinstance(value, SecretStr):
        return ""
    if isinstance(value, Path | str):
        return code(value)
    if isinstance(value, BaseModel | tuple | list | frozenset):
        return code(json.dumps(list(value), default=str))
    return code(json.dumps(value, default=str))
