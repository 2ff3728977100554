"""Server-sent events: news at once, heartbeats, resumption, and the end of memory."""

import asyncio
import json
import threading

import httpx
import pytest
import uvicorn

from rankscope.collector.api.app import create_app
from rankscope.collector.api.feed import ChangeFeed
from rankscope.collector.store.incidents import RecordedChange


def _news(number, job="run-1"):
    document = {"id": f"{number}", "jobs": [job]}
    return RecordedChange(
        "incident.opened", 1_700_000_000.0, document, True, "", number=1000 + number
    )


async def _take(stream, count):
    return [await asyncio.wait_for(anext(stream), 60) for _ in range(count)]


def _ids(texts):
    return [json.loads(text.split("data: ")[1])["data"]["id"] for text in texts]


class _Nothing:
    """A store whose changes are all gone."""

    def newest_change(self):
        return 1000

    def changes_after(self, number):
        return None


def _everybody(_jobs):
    return True


def test_a_stream_gets_what_happens_after_it_began():
    async def run():
        feed = ChangeFeed()
        feed.put([_news(1)])
        stream = feed.follow(None, permits=_everybody)
        assert await _take(stream, 1) == ["retry: 3000\n\n"]
        threading.Thread(target=feed.put, args=([_news(2), _news(3)],)).start()
        texts = await _take(stream, 2)
        await stream.aclose()
        assert _ids(texts) == ["2", "3"]
        assert "event: incident.opened\n" in texts[0]

    asyncio.run(run())


def test_a_stream_goes_on_where_the_last_one_ended():
    async def run():
        feed = ChangeFeed()
        first = feed.follow(None, permits=_everybody)
        await _take(first, 1)
        feed.put([_news(1), _news(2), _news(3)])
        texts = await _take(first, 2)
        await first.aclose()
        last = texts[-1].split("\n")[0].removeprefix("id: ")
        second = feed.follow(last, permits=_everybody)
        texts = await _take(second, 2)
        await second.aclose()
        assert _ids(texts[1:]) == ["3"]

    asyncio.run(run())


@pytest.mark.parametrize("last", ["0", "999", "1002", "1001-3", "x", "-", "\u00b2", "9" * 40])
def test_who_comes_from_another_time_is_told_to_load_everything_anew(last):
    async def run():
        feed = ChangeFeed(_Nothing())
        feed.put([_news(1)])
        stream = feed.follow(last, permits=_everybody)
        texts = await _take(stream, 2)
        await stream.aclose()
        assert "event: reset\n" in texts[1]

    asyncio.run(run())


def test_who_falls_behind_the_memory_is_told_to_load_everything_anew():
    async def run():
        feed = ChangeFeed(memory=3)
        stream = feed.follow(None, permits=_everybody)
        await _take(stream, 1)
        feed.put([_news(number) for number in range(1, 6)])
        texts = await _take(stream, 1)
        feed.put([_news(6)])
        texts += await _take(stream, 1)
        await stream.aclose()
        assert "event: reset\n" in texts[0]
        assert _ids(texts[1:]) == ["6"]

    asyncio.run(run())


def test_a_stream_resumes_after_a_restart_from_what_the_store_kept(store, opened):
    """Ids are numbers of the store, so another process goes on after them."""
    begun = ChangeFeed(store)
    news: list[RecordedChange] = []
    unsubscribe = store.subscribe(news.extend)
    seen = [opened(identity=f"{number}", at=1_700_000_000.0 + number) for number in range(3)]
    unsubscribe()
    begun.put(news[:1])

    async def run():
        first = begun.follow(f"{news[0].number}", permits=_everybody)
        await _take(first, 1)
        await first.aclose()
        stream = ChangeFeed(store).follow(f"{news[0].number}", permits=_everybody)
        texts = await _take(stream, 3)
        await stream.aclose()
        assert _ids(texts[1:]) == seen[1:]
        assert [f"id: {row.number}" for row in news[1:]] == [
            text.partition("\n")[0] for text in texts[1:]
        ]

    asyncio.run(run())


def test_a_stream_ends_when_its_token_expires():
    async def run():
        over = iter([False, True])
        stream = ChangeFeed().follow(
            None, permits=_everybody, expired=lambda: next(over), heartbeat_seconds=0.01
        )
        assert [text async for text in stream] == ["retry: 3000\n\n", ": keep-alive\n\n"]

    asyncio.run(run())


def test_silence_is_filled_with_heartbeats():
    async def run():
        stream = ChangeFeed().follow(None, permits=_everybody, heartbeat_seconds=0.01)
        texts = await _take(stream, 3)
        await stream.aclose()
        assert texts[1:] == [": keep-alive\n\n"] * 2

    asyncio.run(run())


def test_jobs_that_may_not_be_seen_are_left_out():
    async def run():
        feed = ChangeFeed()
        stream = feed.follow(None, permits=lambda jobs: "run-2" in jobs)
        await _take(stream, 1)
        feed.put([_news(1), _news(2, "run-2"), _news(3)])
        texts = await _take(stream, 1)
        await stream.aclose()
        assert _ids(texts) == ["2"]

    asyncio.run(run())


def test_a_client_that_left_is_forgotten():
    async def run():
        feed = ChangeFeed()
        stream = feed.follow(None, permits=_everybody)
        await _take(stream, 1)
        assert len(feed._streams) == 1
        await stream.aclose()
        assert not feed._streams

    asyncio.run(run())


def test_news_come_over_http_with_the_document(new_services, protected, bearer, opened):
    server = uvicorn.Server(
        uvicorn.Config(
            create_app(new_services(**protected)),
            port=0,
            log_config=None,
            lifespan="off",
            ws="none",
        )
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        thread.join(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    url = f"http://127.0.0.1:{port}/api/v1/events"
    try:
        assert httpx.get(url).status_code == 401
        with httpx.stream("GET", url, headers=bearer("read"), timeout=60) as stream:
            assert stream.headers["content-type"].startswith("text/event-stream")
            lines = stream.iter_lines()
            assert next(lines) == "retry: 3000"
            identity = opened()
            data = next(line for line in lines if line.startswith("data: "))
        message = json.loads(data.removeprefix("data: "))
        assert message["type"] == "incident.opened"
        assert message["data"]["id"] == identity
        assert message["data"]["handling"]["acknowledged"] is None
    finally:
        server.should_exit = True
        thread.join(60)
