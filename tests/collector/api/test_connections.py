"""Which connection makes room where there are too many, and what a process has descriptors for."""

import asyncio
from dataclasses import dataclass

import pytest

from rankscope.collector.api import connections
from rankscope.collector.api.connections import ConnectionRegister
from rankscope.collector.health.health import CollectorHealth
from rankscope.collector.settings.http import HttpSettings
from rankscope.vocabulary.clock import SystemClock


@dataclass(eq=False)
class FakeConnection:
    name: str
    waiting: bool = True
    paused: bool = False
    unsent: int = 0
    is_cut: bool = False

    def cut(self):
        self.is_cut = True


def left(limit, *steps):
    """Return the names of the connections that stay, and what the register has to say.

    steps: a new connection each, (name, token or None, waiting); a name that is known is quiet no
    longer: another request of it came.
    """
    health = CollectorHealth()
    register = ConnectionRegister(
        HttpSettings(max_connections=16), descriptors=1 << 16, health=health, clock=SystemClock()
    )
    register.limit = limit
    opened = {}

    async def run():
        for name, token, waiting in steps:
            if name not in opened:
                opened[name] = FakeConnection(name)
                register.opened(opened[name])
            if token is not None and not opened[name].is_cut:
                register.known(opened[name], token)
            opened[name].waiting = waiting

    asyncio.run(run())
    return "".join(name for name, one in opened.items() if not one.is_cut), register.warnings()


def test_all_stay_while_there_is_room():
    assert ("abc", []) == left(3, ("a", None, True), ("b", b"t", True), ("c", None, True))


def test_the_longest_quiet_one_without_a_token_goes_first():
    steps = [("a", b"t", True), ("b", None, True), ("c", None, True), ("d", None, True)]
    stayed, warnings = left(3, *steps)
    assert "acd" == stayed
    assert 1 == len(warnings)
    assert "http.max_connections" in warnings[0]


def test_then_one_of_the_token_that_has_most():
    steps = [("a", b"t", True), ("b", b"u", True), ("c", b"u", True), ("d", None, True)]
    assert "acd" == left(3, *steps)[0]


def test_a_request_makes_a_connection_the_last_to_go():
    steps = [("a", b"t", True), ("b", b"t", True), ("c", b"t", True), ("a", b"t", True)]
    assert "acd" == left(3, *steps, ("d", None, True))[0]


def test_what_is_being_worked_at_stays_and_the_new_one_goes():
    steps = [("a", b"t", False), ("b", b"u", False), ("c", None, False), ("d", None, True)]
    assert "abc" == left(3, *steps)[0]


def test_who_has_more_than_half_of_all_loses_one_that_is_worked_at():
    steps = [("a", b"t", False), ("b", b"t", False), ("c", b"u", False), ("d", None, True)]
    assert "bcd" == left(3, *steps)[0]


@pytest.mark.parametrize(
    ("descriptors", "most"), [(256, 128), (1024, 512), (4096, 3584), (1 << 20, 16384)]
)
def test_the_limit_of_open_files_leaves_some_for_all_else(descriptors, most):
    assert most == connections.most(HttpSettings(), descriptors)
