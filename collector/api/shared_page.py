"""A page that anybody may ask for and that costs something: made once for all who ask at a time."""

import asyncio
from collections.abc import Callable

import anyio.to_thread

PAUSE_SECONDS = 0.1
"""From the start of one to the start of the next, at least."""


class SharedPage:
    """Makes a page after it was asked for, in a thread, and never two at once; for one loop."""

    def __init__(self, make: Callable[[], bytes], *, pause_seconds: float = PAUSE_SECONDS) -> None:
        self._make = make
        self._pause_seconds = pause_seconds
        self._due = 0.0
        self._next: asyncio.Task[bytes] | None = None
        self._one = asyncio.Lock()

    async def get(self) -> bytes:
        """Return it as it is now or a little later. Raises what making it raises."""
        if self._next is None:
            self._next = asyncio.create_task(self._made())
        return await asyncio.shield(self._next)  # who goes away leaves it to the others

    async def _made(self) -> bytes:
        loop = asyncio.get_running_loop()
        async with self._one:
            await asyncio.sleep(max(0.0, self._due - loop.time()))
            self._due = loop.time() + self._pause_seconds
            self._next = None  # who asks from now on wants what is not in this one
            return await anyio.to_thread.run_sync(self._make)
