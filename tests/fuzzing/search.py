"""Search for inputs that one decoder fails on, by atheris.

What leads to code that no input reached yet is kept and changed again. A failure does not end the
search: the first input of each kind of it is written down.
"""

import json
import os
import re
import time
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import atheris  # type: ignore[import-untyped]  # it has none

LONGEST = 1 << 14
"""Bytes of an input, or those of the longest seed."""
HANGS_AFTER = 60
"""Seconds of one input, after which the search ends and the input is kept."""
MOST_MIB = 2048
MOST_WORDS = 2000
_SLOW = 0.5


@dataclass(slots=True)
class SearchCounts:
    """What a search tried: inputs, those refused as documented, bytes, CPU seconds."""

    inputs: int = 0
    refused: int = 0
    bytes: int = 0
    seconds: float = 0.0
    slowest: float = 0.0


def search(decoder: Any, folder: Path, seconds: float) -> None:
    """Search for so many CPU seconds; this process ends with it.

    Inputs go to FOLDER/corpus, failures to FOLDER/failures, figures to FOLDER/counts.json.
    """
    corpus, failures = folder / "corpus", folder / "failures"
    for path in (corpus, failures):
        path.mkdir(parents=True, exist_ok=True)
    seeds = decoder.seeds()
    for number, seed in enumerate(seeds):
        (corpus / f"seed-{number}").write_bytes(seed)
    words = folder / "words"
    words.write_text("".join(f'"{word}"\n' for word in _words(seeds)))
    options = [
        "search",
        f"-max_len={max(LONGEST, *map(len, seeds))}",
        f"-artifact_prefix={failures}/",
        f"-timeout={HANGS_AFTER}",
        f"-rss_limit_mb={MOST_MIB}",
        f"-dict={words}",
        "-len_control=0",
        str(corpus),
    ]
    atheris.Setup(options, _one_input(decoder, folder, seconds))
    atheris.Fuzz()


def _one_input(decoder: Any, folder: Path, seconds: float) -> Callable[[bytes], None]:
    counts = SearchCounts()
    began = time.process_time()

    def read(data: bytes) -> None:
        counts.inputs += 1
        counts.bytes += len(data)
        before = time.process_time()
        try:
            decoder.read(data)
        except decoder.refusals:
            counts.refused += 1
        except Exception as error:  # any other is what is searched for
            _keep(folder / "failures", _place(error), data, traceback.format_exc())
        counts.seconds = time.process_time() - began
        spent = time.process_time() - before
        if spent > counts.slowest:
            counts.slowest = spent
            if spent > _SLOW:
                _keep(folder / "failures", f"slow-{spent:.1f}s", data, "")
        if counts.seconds > seconds:
            (folder / "counts.json").write_text(json.dumps(asdict(counts)))
            os._exit(0)  # libFuzzer ends after a number of inputs or of seconds on the wall only

    return read


def _words(seeds: list[bytes]) -> list[str]:
    """Return what seeds are made of, for inputs to be put together from."""
    found = {word.decode() for seed in seeds for word in re.findall(rb"[A-Za-z_.]{3,40}:? ?", seed)}
    return sorted(found)[:MOST_WORDS]


def _place(error: Exception) -> str:
    """Return what kind of failure it is: its type, and the innermost line of ours."""
    ours = [one for one in traceback.extract_tb(error.__traceback__) if "rankscope" in one.filename]
    where = f"{Path(ours[-1].filename).stem}-{ours[-1].lineno}" if ours else "outside"
    return f"{type(error).__name__}-{where}"


def _keep(failures: Path, name: str, data: bytes, words: str) -> None:
    if not (failures / name).exists():
        (failures / name).write_bytes(data)
        (failures / f"{name}.txt").write_text(words)
