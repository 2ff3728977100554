"""The sessions of docs/diagnose.md: their files give what the page shows."""

import re
from pathlib import Path

import pytest

from rankscope.cli.main import main

PAGE = Path(__file__).resolve().parents[2] / "docs" / "diagnose.md"
SESSIONS = re.findall(r"### (.+?)\n.*?```console\n(.*?)```", PAGE.read_text(), re.DOTALL)
_PERCENT = re.compile(r"\d+%")
"""Probabilities are fitted anew with each version of the catalogue."""


def test_there_are_three():
    assert ["From a log alone", "From a kernel log alone", "From a folder"] == [
        title for title, _ in SESSIONS
    ]


@pytest.mark.parametrize(("title", "session"), SESSIONS, ids=[title for title, _ in SESSIONS])
def test_a_session_prints_what_the_page_shows(title, session, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    *files, (command, shown) = [
        (step.partition("\n")[0], step.partition("\n")[2]) for step in session.split("$ ")[1:]
    ]
    for name, text in files:
        path = tmp_path / name.removeprefix("cat ")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert 0 == main(command.removeprefix("rankscope ").split()), title
    printed = capsys.readouterr().out
    wanted = shown.removesuffix("...\n")
    assert _PERCENT.sub("%", printed).startswith(_PERCENT.sub("%", wanted))
