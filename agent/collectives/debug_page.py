"""torch's debug server of a job: one page with what the recorders of all its ranks hold."""

import http.client

from ...formats.flight_recorder import debug_server


class DebugPageError(Exception):
    """Nothing could be had of the server; the text is a label."""


def ask(address: str, *, timeout: float, max_bytes: int) -> dict[int, bytes]:
    """Return by rank the recorder's list as JSON. Raises DebugPageError.

    Nobody listens in most jobs: that is "no_server". The server asks every rank before it answers.
    """
    connection = http.client.HTTPConnection(address, timeout=timeout)
    try:
        connection.request("GET", "/fr_trace_json")
        answer = connection.getresponse()
        body = answer.read(max_bytes + 1)
    except ConnectionRefusedError as error:
        raise DebugPageError("no_server") from error
    except TimeoutError as error:
        raise DebugPageError("timeout") from error
    except (OSError, http.client.HTTPException) as error:
        raise DebugPageError("server") from error
    finally:
        connection.close()
    if answer.status != http.client.OK or not debug_server.is_page(body[:4096]):
        raise DebugPageError("no_server")
    if len(body) > max_bytes:
        raise DebugPageError("too_large")
    return debug_server.lists(body.decode("utf-8", "replace"))
