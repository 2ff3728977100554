"""A page is made once for all who ask at a time, and after each of them asked."""

import asyncio
import itertools
import threading
import time

import pytest

from rankscope.collector.api.shared_page import SharedPage


def test_who_asks_while_it_is_made_shares_the_next_one() -> None:
    numbers, begun, go_on = itertools.count(), threading.Event(), threading.Event()

    def make() -> bytes:
        begun.set()
        assert go_on.wait(10.0)
        return str(next(numbers)).encode()

    async def ask() -> list[bytes]:
        page = SharedPage(make, pause_seconds=0.0)
        first = asyncio.create_task(page.get())
        assert await asyncio.to_thread(begun.wait, 10.0)
        later = [asyncio.create_task(page.get()) for _ in range(50)]
        await asyncio.sleep(0)
        go_on.set()
        return [await one for one in (first, *later)]

    assert asyncio.run(ask()) == [b"0"] + [b"1"] * 50


def test_it_is_made_so_often_a_second_at_most() -> None:
    numbers = itertools.count()

    async def ask() -> None:
        page = SharedPage(lambda: str(next(numbers)).encode(), pause_seconds=0.1)
        end = time.monotonic() + 0.45
        while time.monotonic() < end:
            await page.get()

    asyncio.run(ask())
    assert next(numbers) <= 6


def test_a_failure_reaches_who_asked_and_the_next_one_is_made_anew() -> None:
    answers: list[bytes | ValueError] = [b"", ValueError("no")]

    def make() -> bytes:
        found = answers.pop()
        if isinstance(found, ValueError):
            raise found
        return found

    async def ask() -> bytes:
        page = SharedPage(make, pause_seconds=0.0)
        with pytest.raises(ValueError, match="no"):
            await page.get()
        return await page.get()

    assert asyncio.run(ask()) == b""
