"""`.ci/run`: installs what is missing, runs as an ordinary user, counts the reports.

Programs that would change the machine (apt-get, useradd, runuser, chown) and make itself are
stand-ins here, found first in PATH; each writes down how it was called.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.documents

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"

NEEDED = (
    *("bash", "basename", "chmod", "cp", "dirname", "env", "mkdir"),
    *("mktemp", "rm", "sleep", "tar", "test", "timeout"),
)
"""Programs of the machine that the script needs before it installs anything."""

WRITE_DOWN = 'echo "$(basename "$0") $*" >> "$STANDINS/calls"\n'

MAKE = """
pwd > "$STANDINS/folder"
env > "$STANDINS/environ"
for word; do case "$word" in REPORT=*) report="${word#REPORT=}";; esac; done
write() {
  [ "$WITHOUT" = "$1" ] || echo '<testsuites><testsuite tests="'"$2"'" failures="'"${3:-0}"'"' \
    'errors="0" skipped="'"${4:-0}"'"/></testsuites>' > "$report-$1.xml"
}
case " $* " in
*" check "*) write documents 3 "$WRONG_PAGES"; exit "${WRONG_PAGES:-0}";;
*" test "*) write parallel 4 0 1; write alone 2 "$FAILURES"; exit "${FAILURES:-0}";;
esac
"""

STANDINS = {
    "make": MAKE,
    "apt-get": """
[ "$1" = install ] || exit 0
for package; do case "$package" in [a-z]*)
  printf '#!/bin/sh\\n' > "$STANDINS/$package"; chmod +x "$STANDINS/$package";; esac
done
[ ! -e "$STANDINS/kept-make" ] || cp "$STANDINS/kept-make" "$STANDINS/make"
""",
    "sudo": 'exec "$@"\n',
    "useradd": "",
    "chown": "",
    "id": '[ "$1" = -u ] || exit 1; echo "${UID_SHOWN:-1000}"\n',
    # The rest runs as somebody else: -u NAME -- COMMAND
    "runuser": 'shift 3; UID_SHOWN=1000 exec "$@"\n',
    **dict.fromkeys(
        (
            "gcc",
            "openssl",
            "prometheus",
            "promtool",
            "prometheus-alertmanager",
            "vmagent",
            "victoria-metrics",
            "amtool",
            "chromium",
            "postgres",
            "haproxy",
            "slurmctld",
            "slurmd",
            "systemd-analyze",
        ),
        "",
    ),
}


class Machine:
    """A checkout with the script, and a PATH that holds stand-ins and little else."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.programs = folder / "programs"
        self.checkout = folder / "a checkout"
        self.programs.mkdir()
        (self.checkout / ".ci").mkdir(parents=True)
        (self.checkout / ".venv").mkdir()
        (folder / "home").mkdir()
        shutil.copy(ROOT / ".ci" / "run", self.checkout / ".ci")
        for name in NEEDED:
            (self.programs / name).symlink_to(shutil.which(name) or name)
        self.program("python3", f'exec "{sys.executable}" "$@"\n')
        for name, body in STANDINS.items():
            self.program(name, WRITE_DOWN + body)

    def program(self, name: str, body: str) -> None:
        path = self.programs / name
        path.write_text(f"#!{shutil.which('sh')}\n{body}")
        path.chmod(0o755)

    def lacks(self, name: str) -> None:
        (self.programs / name).rename(self.programs / f"kept-{name}")

    def run(self, **more: str) -> subprocess.CompletedProcess[str]:
        environ = {
            "PATH": f"{self.programs}:/no/such/folder",
            "HOME": str(self.folder / "home"),
            "STANDINS": str(self.programs),
            "CI": "true",
            **more,
        }
        return subprocess.run(
            ["bash", str(self.checkout / ".ci" / "run")],
            cwd="/",
            env=environ,
            text=True,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=60,
        )

    def calls(self, name: str) -> list[str]:
        lines = (self.programs / "calls").read_text().splitlines()
        return [line for line in lines if line.partition(" ")[0] == name]

    def seen_by_make(self) -> tuple[Path, dict[str, str]]:
        """Return the folder and the environment in which make ran last."""
        environ = (self.programs / "environ").read_text().splitlines()
        pairs = dict(line.split("=", 1) for line in environ if "=" in line)
        return Path((self.programs / "folder").read_text().strip()), pairs


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_the_last_line_counts_all_three_reports(machine: Machine):
    done = machine.run()
    assert (0, "8 passed, 0 failed, 1 skipped") == (done.returncode, done.stdout.split("\n")[-2])
    assert ["make test", "make --keep-going"] == [
        " ".join(call.split()[:2]) for call in machine.calls("make")
    ]


def test_a_failed_test_fails_the_run_and_the_checks_still_run(machine: Machine):
    done = machine.run(FAILURES="1")
    assert (1, "7 passed, 1 failed, 1 skipped") == (done.returncode, done.stdout.split("\n")[-2])
    assert 2 == len(machine.calls("make"))


def test_a_page_that_is_wrong_fails_the_run(machine: Machine):
    done = machine.run(WRONG_PAGES="1")
    assert (1, "7 passed, 1 failed, 1 skipped") == (done.returncode, done.stdout.split("\n")[-2])


@pytest.mark.parametrize("name", ["parallel", "alone", "documents"])
def test_a_missing_report_fails_the_run(name: str, machine: Machine):
    done = machine.run(WITHOUT=name)
    assert 1 == done.returncode
    assert f"no tests-{name}.xml" in done.stdout


def test_an_ordinary_user_runs_where_the_checkout_is(machine: Machine):
    machine.run()
    folder, environ = machine.seen_by_make()
    assert machine.checkout == folder
    assert ("true", "1") == (environ["CI"], environ["RANKSCOPE_EVERY_PART"])
    assert [] == machine.calls("runuser")


def test_what_is_missing_is_installed_and_nothing_else(machine: Machine):
    machine.lacks("make")
    machine.lacks("promtool")
    done = machine.run()
    assert 0 == done.returncode, done.stderr
    assert "installing from Debian: make prometheus\n" in done.stdout
    assert [
        "apt-get update -q",
        "apt-get install -q -y --no-install-recommends make prometheus",
    ] == machine.calls("apt-get")
    assert 2 == len(machine.calls("sudo"))


def test_a_python_that_cannot_make_environments_is_completed(machine: Machine):
    machine.program("python3", f'[ "$1" = -c ] && exit 1; exec "{sys.executable}" "$@"\n')
    assert "installing from Debian: python3 python3-venv\n" in machine.run().stdout


def test_root_hands_a_copy_to_an_ordinary_user(machine: Machine):
    """With a home of its own; settings and caches of pip and npm come along, the real data too."""
    home = machine.folder / "home"
    for name in (".config/pip/pip.conf", ".npmrc", ".cache/pip/wheel", ".cache/other/thing"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(name)
    (machine.folder / "shared" / "data").mkdir(parents=True)
    keep = 'cp -R "$HOME" "$PWD" "$PWD/../shared" "$STANDINS"\n'
    machine.program("make", WRITE_DOWN + keep + MAKE)
    done = machine.run(UID_SHOWN="0", TMPDIR="/no/such/folder", XDG_RUNTIME_DIR="/run/user/0")
    assert (0, "8 passed, 0 failed, 1 skipped") == (done.returncode, done.stdout.split("\n")[-2])
    assert ["useradd --no-create-home rankscope-ci"] == machine.calls("useradd")
    folder, environ = machine.seen_by_make()
    assert machine.checkout != folder
    assert environ["HOME"] == str(folder.parent / "home")
    assert ("true", "1") == (environ["CI"], environ["RANKSCOPE_EVERY_PART"])
    assert str(machine.programs) == environ["PATH"]
    assert set() == {"TMPDIR", "XDG_RUNTIME_DIR"} & set(environ)
    theirs = machine.programs / "home"
    assert ".npmrc" == (theirs / ".npmrc").read_text()
    assert ".config/pip/pip.conf" == (theirs / ".config" / "pip" / "pip.conf").read_text()
    assert (theirs / ".cache" / "pip" / "wheel").is_file()
    assert not (theirs / ".cache" / "other").exists()
    assert (machine.programs / "shared" / "data").is_dir()
    assert [".ci"] == [path.name for path in (machine.programs / "checkout").iterdir()]
    assert not folder.parent.exists(), "nothing of it stays on the machine"


def test_root_fails_where_the_user_fails(machine: Machine):
    assert 1 == machine.run(UID_SHOWN="0", FAILURES="1").returncode


def test_every_program_that_a_test_asks_for_is_installed_by_the_script():
    asked = {
        name
        for path in TESTS.rglob("*.py")
        if path != Path(__file__)
        for name in re.findall(r'\bprogram\("(\w+)"\)', path.read_text(encoding="utf-8"))
    }
    needed = re.findall(r"^  need (\S+) ", (ROOT / ".ci" / "run").read_text(), re.MULTILINE)
    assert asked <= set(needed)
    assert set(needed) <= {*STANDINS}
