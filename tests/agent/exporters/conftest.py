from collections.abc import Iterator

import pytest

from .serving import Exporter, serving


@pytest.fixture
def exporter() -> Iterator[Exporter]:
    with serving() as one:
        yield one
