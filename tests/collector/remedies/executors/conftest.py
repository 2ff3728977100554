"""Orders as executors get them."""

import pytest

from rankscope.collector.remedies.executors.contract import RemedyOrder


@pytest.fixture
def order_of():
    """Return a function that makes an order."""

    def make(action="exclude_node", *, job="1", host="gpu-1", identity="ab12"):
        document = {"id": identity, "action": action, "job": job, "host": host}
        return RemedyOrder(
            id=identity,
            action=action,
            job=job,
            host=host,
            reason="gpu.lost, incident 5b8e",
            at=1_700_000_000.0,
            document=document,
        )

    return make


@pytest.fixture
def allowed():
    """Return what is called before each change; it counts."""

    class Counted:
        count = 0

        def __call__(self) -> None:
            self.count += 1

    return Counted()
