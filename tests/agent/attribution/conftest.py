"""A kubelet that really speaks gRPC."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.agent.kubelet import Kubelet


@pytest.fixture
def kubelet(folder: Path) -> Iterator[Kubelet]:
    with Kubelet(folder / "kubelet.sock") as one:
        yield one
