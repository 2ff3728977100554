"""Text of others on a terminal: shown, never obeyed."""

import copy
import io
import json

import pytest

from rankscope.cli import main, terminal, verbs
from rankscope.cli.report import incident_report

ESCAPES = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e\r"
SHOWN = r"\x1b]0;owned\x07\x1b[2J\x9b31m\u202e\r"


def test_control_characters_are_shown_as_escapes():
    assert SHOWN == terminal.plain(ESCAPES)
    assert r"a\nb" == terminal.plain("a\nb")
    assert "a\nb" == terminal.plain_lines("a\nb")
    assert "größe 中 🔥" == terminal.plain("größe 中 🔥")


def test_every_text_of_a_document_is_made_plain():
    assert {"a": [SHOWN, 1, None]} == terminal.plain_document({"a": (ESCAPES, 1, None)})


def test_json_keeps_its_values_without_a_raw_control_character():
    line = terminal.json_line({"job": ESCAPES + "中"})
    assert line.isprintable()
    assert "中" in line
    assert {"job": ESCAPES + "中"} == json.loads(line)


def test_a_report_prints_no_escape_of_a_job_name_or_a_log_line(document):
    hostile = copy.deepcopy(document)
    hostile["job"] = hostile["summary"] = f"run{ESCAPES}"
    hostile["root_cause"]["hypotheses"][0]["entity"]["id"] = ESCAPES
    hostile["timeline"] = [{"at": "2026-03-02T08:00:45.000Z", "kind": "x", "text": ESCAPES}]
    report = incident_report(hostile)
    assert report.replace("\n", "").isprintable()
    assert SHOWN in report


@pytest.mark.parametrize("name", list(verbs.VERBS))
def test_no_verb_can_print_a_raw_escape(name, capsys, monkeypatch):
    """Whatever a verb prints, and whoever wrote it, passes through one place."""

    class Verb:
        HELP = "prints"
        EXTRA = None

        @staticmethod
        def add_arguments(parser):
            pass

        @staticmethod
        def run(arguments):
            print(ESCAPES)  # noqa: T201
            return 0

    monkeypatch.setattr(verbs, "load", lambda _name: Verb)
    assert 0 == main.main([name])
    assert f"{SHOWN}\n" == capsys.readouterr().out


def test_complaints_are_plain_too(capsys):
    terminal.complain(f"no job {ESCAPES}")
    assert f"no job {SHOWN}\n" == capsys.readouterr().err


def test_a_plain_output_is_otherwise_the_stream_it_covers():
    stream = io.StringIO()
    terminal.PlainOutput(stream).writelines(["a\x07", "b\n"])
    assert "a\\x07b\n" == stream.getvalue()
    assert terminal.PlainOutput(stream).isatty() is False
