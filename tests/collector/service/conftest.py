"""A whole collector in this process, on a free port."""

import threading
from contextlib import contextmanager

import pytest

from rankscope.collector.service import CollectorService
from rankscope.collector.settings.collector import CollectorSettings
from rankscope.vocabulary.clock import SystemClock


@pytest.fixture
def collector_at():
    """Return a context manager that runs a collector on a data folder."""

    @contextmanager
    def run(folder, **sections):
        settings = CollectorSettings.model_validate(
            {"data_dir": folder, "http": {"listen": "127.0.0.1:0"}, **sections}
        )
        service = CollectorService(settings, clock=SystemClock())
        thread = threading.Thread(target=service.serve)
        thread.start()
        try:
            assert service.ready.wait(60)
            yield service
        finally:
            service.stop()
            thread.join()

    return run


@pytest.fixture
def collector(collector_at, tmp_path):
    with collector_at(tmp_path / "data") as service:
        yield service
