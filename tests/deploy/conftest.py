"""Programs that render manifests, unpacked once."""

import pytest

from .clients import Clients


@pytest.fixture(scope="session")
def clients(tmp_path_factory) -> Clients:
    """Return kubectl and helm."""
    return Clients(tmp_path_factory.mktemp("clients"))
