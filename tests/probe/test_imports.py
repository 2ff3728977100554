"""The probe brings nothing along, and sees torch imported without importing it."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.waiting import PATIENCE_SECONDS

from rankscope import probe

ROOT = Path(__file__).parents[2]


def run(code: str, environ: dict[str, str], *options: str) -> str:
    done = subprocess.run(
        [sys.executable, *options, "-c", code],
        env=environ,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert 0 == done.returncode, done.stderr
    return done.stdout


def test_attaching_imports_nothing_but_the_standard_library(environ, listener):
    code = """
import sys
before = set(sys.modules)
from rankscope import probe
watch = probe.attach()
with watch.step(): watch.record(loss=1.0)
watch.detach()
names = {name.partition('.')[0] for name in set(sys.modules) - before}
print(sorted(names - set(sys.stdlib_module_names) - {'rankscope'}))
"""
    assert "[]\n" == run(code, {**environ, **listener.environ})


def test_the_framework_modules_import_nothing(environ):
    code = """
import sys
from rankscope.probe import accelerate, huggingface, lightning
print(sorted({'torch', 'transformers', 'lightning', 'accelerate'} & set(sys.modules)))
"""
    assert "[]\n" == run(code, environ)


def test_a_module_that_is_not_there_fails_to_import_as_ever(listener, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    watch = probe.attach(environ=listener.environ)
    with pytest.raises(ImportError):
        import torch  # noqa: F401, PLC0415
    watch.detach()


def start_line() -> str:
    """Return the line that setup.py puts into the wheel."""
    tree = ast.parse((ROOT / "setup.py").read_text())
    for node in tree.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "LINE":
            return str(ast.literal_eval(node.value))
    raise AssertionError("setup.py holds no LINE")


@pytest.mark.parametrize(
    ("switch", "steps"),
    [
        ("1", [*range(20)]),
        pytest.param("", [], marks=pytest.mark.long),
        pytest.param("0", [], marks=pytest.mark.long),
        pytest.param("maybe", [], marks=pytest.mark.long),
    ],
)
def test_the_start_line_attaches_a_job_without_a_line_of_code(
    environ, listener, tmp_path, switch, steps
):
    (tmp_path / "rankscope_probe.pth").write_text(start_line())
    job = Path(__file__).parent / "jobs" / "plain.py"
    code = f"""
import site, sys, runpy
site.addsitedir({str(tmp_path)!r})
sys.argv = [{str(job)!r}]
assert 'torch' not in sys.modules
runpy.run_path({str(job)!r}, run_name='__main__')
print(sys.modules['torch'].__spec__.loader.__class__.__name__)
"""
    said = {"RANKSCOPE_PROBE": switch} if switch else {}
    printed = run(code, {**environ, **listener.environ, **said})
    assert "weights" in printed
    assert "SourceFileLoader" == printed.splitlines()[-1], "it is torch's own once it is loaded"
    listener.wait()
    assert steps == listener.values("training.step")


def test_the_start_line_imports_nothing_unless_it_is_asked_to(environ, tmp_path):
    (tmp_path / "rankscope_probe.pth").write_text(start_line())
    code = f"""
import site, sys
before = set(sys.modules)
site.addsitedir({str(tmp_path)!r})
print([name for name in set(sys.modules) - before if name.startswith('rankscope')])
"""
    assert "[]\n" == run(code, environ)


def test_a_job_can_be_run_by_the_module_with_its_arguments_as_they_are(job, listener):
    text = job.run_module("plain.py", "--unknown")
    assert re.search("weights [0-9a-f]{64}", text)
    assert [*range(20)] == listener.values("training.step")


def test_the_module_without_a_script_says_how_it_is_used(environ):
    done = subprocess.run(
        [sys.executable, "-m", "rankscope.probe"],
        env=environ,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert 2 == done.returncode
    assert "usage: python -m rankscope.probe" in done.stdout
