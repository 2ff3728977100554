"""Puts one more file into the wheel: the line that lets RANKSCOPE_PROBE=1 attach without code.

An editable install gets bytecode instead, as pip makes it of a wheel: where PYTHONDONTWRITEBYTECODE
is set each start would compile all modules again. Everything else stands in pyproject.toml.
"""

import compileall
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

# Runs at every start of Python, so it looks at the environment before it imports anything of ours.
LINE = (
    "import os; os.environ.get('RANKSCOPE_PROBE', '0') != '0' and "
    "__import__('rankscope.probe.autoload', fromlist=['arm']).arm()\n"
)


class BuildWithStartLine(build_py):
    """Build the packages, and beside them `rankscope_probe.pth`."""

    def run(self) -> None:
        """Build; an editable install gets no such file, and its bytecode beside the sources."""
        super().run()
        if not self.editable_mode:
            Path(self.build_lib, "rankscope_probe.pth").write_text(LINE, encoding="ascii")
            return
        for package in Path("src", "rankscope").iterdir():
            compileall.compile_dir(package.resolve(), quiet=2)


setup(cmdclass={"build_py": BuildWithStartLine})
