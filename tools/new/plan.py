"""What a new plug-in changes, decided whole before anything is written."""

import re
from dataclasses import dataclass, field
from pathlib import Path

EXAMPLES = "docs/examples"

_NAME = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")


class RefusedError(ValueError):
    """Nothing can be made of this; the text says why in one line."""


@dataclass
class Plan:
    """Texts of files by path below the root; `edits` are what is left to a person."""

    root: Path
    made: list[str] = field(default_factory=list)
    edits: list[str] = field(default_factory=list)
    _texts: dict[str, str] = field(default_factory=dict)

    def text(self, path: str) -> str:
        """Return a file's text as it will be."""
        if path not in self._texts:
            return (self.root / path).read_text(encoding="utf-8")
        return self._texts[path]

    def make(self, path: str, text: str) -> None:
        """Make a file that is not there yet."""
        if (self.root / path).exists():
            raise RefusedError(f"{path} exists: take another name")
        self.made.append(path)
        self._texts[path] = text

    def add_line(self, path: str, line: str, *, of: str, before: str) -> None:
        """Put a line at the end of a list that begins with `of` and ends with `before`."""
        lines = self.text(path).splitlines(keepends=True)
        begin = next((at for at, one in enumerate(lines) if one.startswith(of)), len(lines))
        if begin < len(lines) and lines[begin].endswith(f",{before}\n"):  # all on one line
            lines[begin : begin + 1] = [
                lines[begin].removesuffix(f"{before}\n") + "\n",
                f"{before}\n",
            ]
        end = next((at for at in range(begin, len(lines)) if lines[at] == f"{before}\n"), None)
        if end is None:
            raise RefusedError(
                f"{path} has no list {of.strip()!r}, one member a line: it was moved"
            )
        self._texts[path] = "".join([*lines[:end], f"{line}\n", *lines[end:]])

    def add_after(self, path: str, line: str, *, begins: str) -> None:
        """Put a line after the first one that begins so."""
        lines = self.text(path).splitlines(keepends=True)
        place = next((at for at, one in enumerate(lines) if one.startswith(begins)), None)
        if place is None:
            raise RefusedError(f"{path} has no line that begins with {begins!r}: it was moved")
        self._texts[path] = "".join([*lines[: place + 1], f"{line}\n", *lines[place + 1 :]])

    def append(self, path: str, text: str) -> None:
        """Put a text at the end of a file, an empty line before it."""
        self._texts[path] = f"{self.text(path).rstrip()}\n\n{text.strip()}\n"

    def write(self) -> list[str]:
        """Write everything; return the paths, those of new files first."""
        for path, text in self._texts.items():
            (self.root / path).write_text(text, encoding="utf-8")
        return sorted(self._texts, key=lambda path: (path not in self.made, path))


def checked_name(name: str, *, example: str) -> str:
    """Return a name of small letters, digits and single underscores; refuse any other."""
    if not _NAME.fullmatch(name):
        raise RefusedError(
            f"{name!r} is no name: small letters, digits and underscores, such as {example}"
        )
    return name


def class_name(name: str) -> str:
    """Return a name as a class has it: fan_speed -> FanSpeed."""
    return "".join(word.capitalize() for word in name.split("_"))


def words(name: str) -> str:
    """Return a name as a sentence begins: fan_speed -> Fan speed."""
    return name.replace("_", " ").replace(".", ": ").capitalize()


def example(root: Path, file: str) -> str:
    """Return the text of a worked example."""
    return (root / EXAMPLES / file).read_text(encoding="utf-8")


def as_module(text: str, *, folder: str, first_line: str) -> str:
    """Return an example as a module of a folder: relative imports, a first line of its own.

    Doctests keep their absolute imports, as those of the other modules.
    """
    parts = folder.split("/")

    def relative(found: re.Match[str]) -> str:
        target = found[1].split(".")
        same = 0
        while same < min(len(parts), len(target)) and parts[same] == target[same]:
            same += 1
        return f"from {'.' * (len(parts) - same + 1)}{'.'.join(target[same:])} import"

    body = text.split('"""', 2)[2]
    body = re.sub(r"^from rankscope\.([\w.]+) import", relative, body, flags=re.MULTILINE)
    return f'"""{first_line}"""{body}'


def rows(text: str, table: str) -> str:
    """Return the rows of one table of a TOML text, without its head and other tables."""
    parts = re.split(r"(?m)^(?=\[\[)", text)
    return "\n".join(part.strip() for part in parts if part.startswith(f"[[{table}]]"))
