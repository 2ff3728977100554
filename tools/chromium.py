"""A headless Chromium, driven over its own debugging pipe: for pictures and for tests.

Standard library only: two pipes, one JSON object a message, messages end with a zero byte. No
driver program and no WebSocket is needed.
"""

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

_SWITCHES = (
    "--headless",
    "--remote-debugging-pipe",
    "--no-sandbox",  # needed as root, as in a container; the pages shown are our own
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
)


# The browser reads messages from descriptor 3 and answers on 4. They are moved there by a small
# program in between: a preexec function is unsafe beside threads, and a shell knows only one digit.
_MOVE = """
import fcntl, os, sys
reading, writing = (fcntl.fcntl(int(fd), fcntl.F_DUPFD, 10) for fd in sys.argv[1:3])
os.dup2(reading, 3)
os.dup2(writing, 4)
os.execvp(sys.argv[3], sys.argv[3:])
"""


class ChromiumError(RuntimeError):
    """Chromium ended, did not answer in time, or a page's script failed."""


class Chromium:
    """One browser with one page, a context manager; `errors` collects what scripts raised."""

    def __init__(self, program: str = "chromium", *, width: int = 1440, height: int = 900) -> None:
        self._profile = tempfile.mkdtemp(prefix="rankscope-chromium-")
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                _MOVE,
                str(to_read),
                str(to_write),
                program,
                *_SWITCHES,
                f"--user-data-dir={self._profile}",
                f"--window-size={width},{height}",
                "about:blank",
            ],
            pass_fds=(to_read, to_write),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(to_write)
        self._held = b""
        self._number = 0
        self._session: str | None = None
        self.errors: list[str] = []
        try:
            pages = self._call("Target.getTargets")["targetInfos"]
            page = next(one["targetId"] for one in pages if one["type"] == "page")
            attached = self._call("Target.attachToTarget", targetId=page, flatten=True)
            self._session = attached["sessionId"]
            for domain in ("Page", "Runtime", "Log"):
                self._call(f"{domain}.enable")
            self.size(width, height)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        """Return the browser."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the browser and remove its profile."""
        self.close()

    def open(self, address: str) -> None:
        """Go to an address; does not wait for the page."""
        self._call("Page.navigate", url=address)

    def scheme(self, name: str) -> None:
        """Prefer `light` or `dark`, as the system's setting would."""
        features = [{"name": "prefers-color-scheme", "value": name}]
        self._call("Emulation.setEmulatedMedia", features=features)

    def size(self, width: int, height: int) -> None:
        """Make the page so many pixels wide and high."""
        self._call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def run(self, script: str) -> Any:
        """Return the JSON value of an expression in the page; promises are waited for."""
        answer = self._call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            raise ChromiumError(_words(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def wait(self, script: str, *, seconds: float = 240) -> Any:
        """Return the value of an expression once it is true; ChromiumError when it never is.

        An element counts as true: it has no value that could be handed over.
        """
        once = f"(value => value instanceof Node || value)({script})"
        end = time.monotonic() + seconds
        while True:
            try:
                if value := self.run(once):
                    return value
            except ChromiumError as error:
                if "context" not in str(error) and time.monotonic() > end:
                    raise
            if time.monotonic() > end:
                page = self.run("document.body?.innerText.slice(0, 1000)")
                raise ChromiumError(
                    f"never true within {seconds} s: {script}; {self.errors}; the page: {page}"
                )
            time.sleep(0.05)

    def before_every_page(self, script: str) -> None:
        """Run a script in every page that is opened from now on, before its own."""
        self._call("Page.addScriptToEvaluateOnNewDocument", source=script)

    def metrics(self) -> dict[str, float]:
        """Return counters of the page's process, such as TaskDuration (s of its main thread)."""
        self._call("Performance.enable")
        found = self._call("Performance.getMetrics")["metrics"]
        return {one["name"]: one["value"] for one in found}

    def press(self, key: str) -> None:
        text = {"text": key} if len(key) == 1 else {}
        self._call("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self._call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def picture(self, *, whole: bool = False) -> bytes:
        """Return a PNG of what is seen, or of the whole page."""
        more: dict[str, Any] = {}
        if whole:
            size = self._call("Page.getLayoutMetrics")["cssContentSize"]
            more = {"captureBeyondViewport": True, "clip": {**size, "x": 0, "y": 0, "scale": 1}}
        answer = self._call("Page.captureScreenshot", format="png", **more)
        return base64.b64decode(answer["data"])

    def close(self) -> None:
        """End the browser and remove its profile."""
        self._process.terminate()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for end in (self._read, self._write):
            try:
                os.close(end)
            except OSError:
                continue  # closed before
        shutil.rmtree(Path(self._profile), ignore_errors=True)

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        try:
            os.write(self._write, json.dumps(message).encode() + b"\0")
        except BrokenPipeError:
            raise ChromiumError("Chromium has ended") from None
        end = time.monotonic() + 30
        while True:
            answer = self._receive(end)
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise ChromiumError(f"{method}: {answer['error']['message']}")
                return dict(answer["result"])
            self._note(answer)

    def _receive(self, end: float) -> dict[str, Any]:
        while b"\0" not in self._held:
            ready, _, _ = select.select([self._read], [], [], max(0, end - time.monotonic()))
            chunk = os.read(self._read, 1 << 16) if ready else b""
            if not chunk:
                raise ChromiumError("Chromium has ended" if ready else "Chromium does not answer")
            self._held += chunk
        message, _, self._held = self._held.partition(b"\0")
        return dict(json.loads(message))

    def _note(self, event: dict[str, Any]) -> None:
        parameters = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            self.errors.append(_words(parameters["exceptionDetails"]))
        elif event.get("method") == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            entry = parameters["entry"]
            self.errors.append(f"{entry['text']} {entry.get('url', '')}".strip())


def _words(details: dict[str, Any]) -> str:
    return str(details.get("exception", {}).get("description") or details.get("text"))
