"""One mutant after the other in a private copy of the tree, against the tests that reach it."""

import json
import os
import shutil
import subprocess
import sys
import time
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

from .recording import Map, MappedTest
from .server import OUTSIDE
from .sites import Site

FEW = 20
"""Where fewer tests reach a line, those of the whole module are tried as well: what is cached, or
runs on import or in another process, counts for one test or for none."""
AT_ONCE = 30
"""Tests in the first run, the nearest ones, which nearly always decide."""
AT_ONCE_SECONDS = 5.0
FILES = 40
"""With tests of a mutant, at most: reading a file takes time too."""
PATIENCE_SECONDS = 60.0
UNCERTAIN_SECONDS = 1.0
"""A test that takes longer may have failed for want of time: it has to fail twice."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """At most so many tests a mutant, and so many seconds of them."""

    tests: int
    seconds: float


class Tree:
    """A copy of the repository with an interpreter of its own, in which one file may be changed."""

    def __init__(self, root: Path, folder: Path) -> None:
        self._folder = folder
        self.cpu_seconds = 0.0
        self._written = int(time.time()) - 1_000_000
        _copy(root, folder)
        environment = {**os.environ, "PATH": f"{folder}/.venv/bin:{os.environ['PATH']}"}
        for name in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE"):
            environment.pop(name, None)
        self._server = subprocess.Popen(
            [folder / ".venv" / "bin" / "python", "-m", "tools.mutants.server"],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def write(self, path: str, source: bytes) -> None:
        """Change a file; each time it gets another date, by which Python knows its bytecode."""
        self._written += 2
        (self._folder / path).write_bytes(source)
        os.utime(self._folder / path, (self._written, self._written))

    def run(self, tests: list[MappedTest]) -> dict[str, Any]:
        """Return the server's answer.

        A run has a minute and ten times what it took before; three times that on a busy machine.
        """
        assert self._server.stdin is not None  # noqa: S101  mypy cannot know
        assert self._server.stdout is not None  # noqa: S101
        busy = os.getloadavg()[0] > (os.cpu_count() or 1)
        seconds = (3 if busy else 1) * (PATIENCE_SECONDS + 10 * sum(test.seconds for test in tests))
        request = {"tests": [test.name for test in tests], "seconds": seconds}
        self._server.stdin.write(json.dumps(request) + "\n")
        self._server.stdin.flush()
        answer: dict[str, Any] = json.loads(self._server.stdout.readline())
        self.cpu_seconds += answer["cpu"]
        if answer["code"] == OUTSIDE:
            raise RuntimeError((self._folder / "mutants-output.txt").read_text(encoding="utf-8"))
        return answer

    def close(self) -> None:
        """End the server and remove the copy."""
        self._server.communicate()
        shutil.rmtree(self._folder)


def _copy(root: Path, folder: Path) -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for name in filter(None, listed.split("\0")):
        if (root / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, folder / name, follow_symlinks=False)
    venv.create(folder / ".venv", symlinks=True)
    packages = Path(sys.prefix, "lib").glob("python*/site-packages")
    (own,) = (folder / ".venv" / "lib").glob("python*/site-packages")
    # Files of paths are not read in folders named here: the tree that is installed stays out.
    lines = [str(folder / "src"), *map(str, packages)]
    (own / "tree.pth").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for program in Path(sys.prefix, "bin").iterdir():
        copy = folder / ".venv" / "bin" / program.name
        if not copy.exists():
            text = program.read_bytes()
            if text.startswith(b"#!"):
                copy.write_bytes(text.replace(sys.prefix.encode(), str(folder / ".venv").encode()))
                copy.chmod(0o755)
            else:
                copy.symlink_to(program)


class Trial:
    """Tries mutants in one tree. A test that fails without a mutant too decides nothing."""

    def __init__(self, tree: Tree, tested: Map, quick: set[MappedTest], bounds: Bounds) -> None:
        self._tree, self._map, self._quick, self._bounds = tree, tested, quick, bounds
        self._passing: set[str] = set()
        self._failing: set[str] = set()

    def outcome(self, site: Site, source: bytes) -> dict[str, Any]:
        """Return its outcome, killer and why, tests tried, and whether the bounds cut some off."""
        path = site.mutant.path
        reaching = self._map.reaching(path, None if site.on_import else site.lines)
        candidates = set(reaching)
        if site.on_import or len(reaching) < FEW:
            candidates |= self._map.reaching(path, None) | self._map.below(_mirror(path, self._map))
        result: dict[str, Any] = {
            "outcome": "survived" if reaching else "reached by no test",
            "at": f"{path}:{site.mutant.line}",
            "tests": 0,
            "bounded": False,
        }
        before = self._tree.cpu_seconds
        for name, among in (
            ("quick", candidates & self._quick),
            ("long", candidates - self._quick),
        ):
            chosen = _chosen(path, among, self._bounds)
            result["bounded"] |= len(chosen) < len(among)
            for tests in _runs(chosen):
                killer = self._killer(site, source, tests)
                result["tests"] += len(tests)
                result["cpu_seconds"] = round(self._tree.cpu_seconds - before, 1)
                if killer:
                    return {**result, "outcome": f"killed by {name}", **killer}
        return result

    def _killer(self, site: Site, source: bytes, tests: list[MappedTest]) -> dict[str, Any] | None:
        path = site.mutant.path
        while tests := [test for test in tests if test.name not in self._failing]:
            self._tree.write(path, site.applied(source))
            try:
                answer = self._tree.run(tests)
                if answer["code"] in {0, 5}:
                    return None
                failed = answer.get("failed") or answer.get("last") or ""
                suspects = [test for test in tests if failed in {test.name, test.file}] or tests
                self._tree.write(path, source)
                unchanged = self._verified(suspects)
                if not unchanged:
                    continue
                slow = answer["code"] is None or suspects[0].seconds > UNCERTAIN_SECONDS
                if len(suspects) == 1 and slow:
                    self._tree.write(path, site.applied(source))
                    if self._tree.run(suspects)["code"] in {0, 5}:
                        tests = [test for test in tests if test not in suspects]
                        continue
            finally:
                self._tree.write(path, source)
            why = "time was over" if answer["code"] is None else answer.get("why", "")
            return {"killer": failed, "why": why}
        return None

    def _verified(self, tests: list[MappedTest]) -> bool:
        """Return whether the tests pass without a mutant; who does not is remembered."""
        unknown = [test for test in tests if test.name not in self._passing]
        while unknown:
            answer = self._tree.run(unknown)
            if answer["code"] == 0:
                self._passing |= {test.name for test in unknown}
                return True
            failed = answer.get("failed") or answer.get("last")
            bad = [test for test in unknown if failed in {test.name, test.file}] or unknown
            self._failing |= {test.name for test in bad}
            print(f"fails without a mutant: {failed}", file=sys.stderr)
            return False
        return True


def _mirror(path: str, tested: Map) -> str:
    """Return the beginning of the names of the test files nearest to a module."""
    parts = path.removesuffix(".py").removesuffix("/__init__").split("/")
    options = [f"tests/{'/'.join(parts[:-1])}/test_{parts[-1]}"]
    options += [f"tests/{'/'.join(parts[:length])}/" for length in range(len(parts), 0, -1)]
    return next((option for option in options if tested.below(option)), options[-1])


def _nearness(path: str, file: str) -> int:
    """Return how many parts of a module's path and of a test file's agree."""
    module = path.removesuffix(".py").split("/")
    test = file.removeprefix("tests/").removesuffix(".py").replace("test_", "").split("/")
    agreeing = takewhile(lambda pair: pair[0] == pair[1], zip(module, test, strict=False))
    return len(list(agreeing))


def _chosen(path: str, among: set[MappedTest], bounds: Bounds) -> list[MappedTest]:
    """Return tests within the bounds: of the nearest files in turn the five quickest ones."""
    by_file: dict[str, list[MappedTest]] = {}
    for test in sorted(among, key=lambda one: (one.seconds, one.name)):
        by_file.setdefault(test.file, []).append(test)
    nearest = sorted(
        by_file, key=lambda file: (-_nearness(path, file), by_file[file][0].seconds, file)
    )
    order = []
    for file in nearest[:FILES]:
        order += [(number, test) for number, test in enumerate(by_file[file])]
    order.sort(key=lambda one: (one[0] // 5, nearest.index(one[1].file)))
    chosen: list[MappedTest] = []
    seconds = 0.0
    for _, test in order[: bounds.tests]:
        seconds += test.seconds
        if seconds > bounds.seconds and chosen:
            break
        chosen.append(test)
    return chosen


def _runs(tests: list[MappedTest]) -> Iterator[list[MappedTest]]:
    """Split them in two: what is decided at once, and the rest."""
    first, seconds = 0, 0.0
    while first < min(len(tests), AT_ONCE) and (seconds < AT_ONCE_SECONDS):
        seconds += tests[first].seconds
        first += 1
    files = list(dict.fromkeys(test.file for test in tests))
    for part in (tests[:first], tests[first:]):
        if part:
            yield sorted(part, key=lambda test: files.index(test.file))
