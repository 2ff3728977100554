"""The entry point: what it lists, how it fails, what it imports."""

import os
import subprocess
import sys

import pytest

from rankscope.cli import main as entry
from rankscope.cli import verbs

CONTRACT = {
    "agent",
    "collector",
    "demo",
    "replay",
    "diagnose",
    "incidents",
    "explain",
    "webhooks",
    "priors",
    "mcp",
    "tokens",  # these and the next came later
    "check",
    "offenders",
    "profile",
    "feedback",
    "report",
    "bisect",
    "check-config",
    "doctor",
    "lab",
    "dashboards",
}


def test_every_verb_of_the_contract_is_there_and_no_other():
    assert set(verbs.VERBS) == CONTRACT


def test_help_lists_every_verb_with_one_line_each(capsys):
    assert entry.main(["--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for name in verbs.VERBS:
        (line,) = [line for line in lines if line.startswith(f"  {name} ")]
        assert len(line.split(maxsplit=1)[1]) > 10
        assert len(line) <= 100


def test_without_a_verb_the_list_is_printed_and_the_use_is_wrong(capsys):
    assert entry.main([]) == 2
    assert "usage: rankscope" in capsys.readouterr().out


def test_version_names_the_package(capsys):
    assert entry.main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("rankscope 0.")


def test_an_unknown_verb_gets_the_nearest_one(capsys):
    assert entry.main(["repaly"]) == 2
    assert "did you mean replay?" in capsys.readouterr().err


@pytest.mark.parametrize("name", sorted(CONTRACT))
def test_every_verb_has_help_and_its_arguments_are_described(name, capsys):
    with pytest.raises(SystemExit) as left:
        entry.main([name, "--help"])
    assert left.value.code == 0
    assert f"usage: rankscope {name}" in capsys.readouterr().out


@pytest.mark.parametrize("name", sorted(CONTRACT))
def test_wrong_arguments_are_wrong_use(name):
    with pytest.raises(SystemExit) as left:
        entry.main([name, "--no-such-option"])
    assert left.value.code == 2


def without(missing, then):
    """Run lines of Python where a package (None: everything but the standard library) is absent."""
    rule = (
        "top not in sys.stdlib_module_names and top != 'rankscope'"
        if missing is None
        else f"top == {missing!r}"
    )
    script = (
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        top = name.partition('.')[0]\n"
        f"        if {rule}:\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
        "sys.meta_path.insert(0, Absent())\n"
        f"{then}\n"
    )
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60
    )


def test_every_verb_loads_with_the_standard_library_alone():
    """In the base install nothing else is there, and `--help` must still work and be quick."""
    done = without(
        None,
        "import argparse; from rankscope.cli import verbs\n"
        f"for name in {sorted(CONTRACT)!r}:\n"
        "    print(name, flush=True)\n"
        "    verbs.load(name).add_arguments(argparse.ArgumentParser())",
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout.split()[-1]


@pytest.mark.parametrize(
    ("words", "package", "extra"),
    [
        (["agent"], "pydantic", "agent"),
        (["collector"], "numpy", "collector"),
        (["replay", "x.jsonl"], "numpy", "collector"),
        (["lab", "list"], "numpy", "lab"),
        (["demo"], "uvicorn", "lab"),
        (["dashboards", "build"], "grafana_foundation_sdk", "dashboards"),
    ],
)
def test_a_missing_package_is_answered_with_the_command_that_brings_it(words, package, extra):
    done = without(package, f"from rankscope.cli.main import main; sys.exit(main({words!r}))")
    assert done.returncode == 2
    assert f"needs the {extra} extra ({package} is not installed)" in done.stderr
    assert f"pip install 'rankscope[{extra}]'" in done.stderr


def test_bad_settings_are_printed_and_are_wrong_use(tmp_path, capsys):
    config = tmp_path / "collector.yaml"
    config.write_text("htpp:\n  listen: 127.0.0.1:0\n")
    assert entry.main(["collector", "--config", str(config)]) == 2
    assert "htpp" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_is_named_with_the_option(tmp_path, capsys):
    taken = tmp_path / "file"
    taken.touch()
    assert entry.main(["dashboards", "build", "--out", str(taken)]) == 1
    assert f"{taken}" in (said := capsys.readouterr().err)
    assert "Not a directory; give --out" in said


@pytest.mark.parametrize("text", ["abc", "0", "-1"])
def test_a_number_that_is_none_is_told_as_such(text, capsys):
    with pytest.raises(SystemExit):
        entry.main(["incidents", f"--limit={text}"])
    assert f"argument --limit: '{text}' is not a number from 1" in capsys.readouterr().err


def test_a_reader_that_goes_away_is_no_error_of_ours():
    """As `| head` does: nothing is printed about it, and the exit code says it was cut short."""
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "rankscope.cli.main", "lab", "list"]
    with os.fdopen(write, "wb") as nobody:
        done = subprocess.run(command, stdout=nobody, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr) == (1, b"")
