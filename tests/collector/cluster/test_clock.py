"""A collector of several whose clock is minutes off answers by the one that they share."""

import threading
import time

import httpx
from tests.clocks import ShiftedClock

from rankscope.collector.service import CollectorService
from rankscope.collector.settings.collector import CollectorSettings
from rankscope.vocabulary.times import parse

OFF_SECONDS = 600.0


def test_a_silence_begins_now_on_a_machine_that_is_minutes_ahead(log, postgresql, tmp_path):
    url = postgresql.new()
    settings = CollectorSettings.model_validate(
        {
            "data_dir": tmp_path / "data",
            "http": {"listen": "127.0.0.1:0"},
            "store": {"url": url},
            "log": log.model_dump(),
        }
    )
    service = CollectorService(settings, clock=ShiftedClock(OFF_SECONDS))
    thread = threading.Thread(target=service.serve)
    thread.start()
    try:
        assert service.ready.wait(60)
        now = time.time()
        made = httpx.post(
            f"{service.address}/api/v1/silences",
            json={
                "matchers": [{"name": "host", "patterns": ["gpu-7"]}],
                "ends_at": now + OFF_SECONDS / 2,
            },
            timeout=60,
        )
        assert made.status_code == 201, made.text
        assert abs(parse(made.json()["starts_at"]) - now) < OFF_SECONDS / 4
    finally:
        service.stop()
        thread.join()
        postgresql.drop(url)
