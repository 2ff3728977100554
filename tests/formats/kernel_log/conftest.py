"""Reads lines as the agent would, one after the other."""

from collections.abc import Callable

import pytest

from rankscope.formats.kernel_log import KernelLogParser, Report, relevant


@pytest.fixture
def read() -> Callable[..., list[Report]]:
    """Feed lines a tenth of a second apart; what the pre-filter would drop is dropped."""

    def feed(*lines: str, apart: float = 0.1) -> list[Report]:
        parser = KernelLogParser()
        return [
            found
            for number, line in enumerate(lines)
            if relevant(line.encode())
            for found in parser.feed(line, 1000.0 + number * apart)
        ]

    return feed
