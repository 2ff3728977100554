"""What every test may ask for: real programs of the machine."""

import os
import shutil
from collections.abc import Callable

import pytest


@pytest.fixture(scope="session")
def program() -> Callable[[str], str]:
    """Return a finder of real programs by name: `program("chromium")` is its path.

    Where the program is absent the test is skipped, saying so. With RANKSCOPE_EVERY_PART set, as
    .ci/run sets it, nothing may be skipped and the test fails.
    """

    def find(name: str) -> str:
        path = shutil.which(name)
        if path is None and os.environ.get("RANKSCOPE_EVERY_PART"):
            pytest.fail(f"{name} is not installed, and .ci/run installs every part")
        if path is None:
            pytest.skip(f"{name} is not installed; .ci/run installs it")
        return path

    return find
