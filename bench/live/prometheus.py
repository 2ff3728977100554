"""A real Prometheus over the live cluster: its program, its rules if any, and questions to it."""

import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rankscope.lab.demo.processes import DemoProcesses
from rankscope.lab.demo.stage import clean_environment, free_port


class PrometheusQueries:
    """Asks a Prometheus that runs at this address."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def query(self, expression: str, at: float | None = None) -> list[dict[str, Any]]:
        """Return the series of an instant query. QueryError says what is wrong with it."""
        when = {} if at is None else {"time": at}
        found = self.ask("query", query=expression, **when)["result"]
        return list(found) if isinstance(found, list) else []

    def range(self, expression: str, start: float, end: float, step: float) -> list[dict[str, Any]]:
        return list(
            self.ask("query_range", query=expression, start=start, end=end, step=step)["result"]
        )

    def ask(self, path: str, **parameters: Any) -> Any:
        """Return `data` of an answer of the HTTP API."""
        body = urllib.parse.urlencode(parameters, doseq=True)
        url = f"{self.address}/api/v1/{path}?{body}"
        try:
            with self._opener.open(url, timeout=30) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            text = error.read().decode(errors="replace")
            raise QueryError(f"{error.code} {text}: {parameters}") from None


class PrometheusServer(PrometheusQueries):
    """A server that scrapes `targets` (job -> addresses) every `interval`."""

    def __init__(
        self,
        program: str,
        folder: Path,
        processes: DemoProcesses,
        *,
        targets: Mapping[str, Sequence[str]],
        rules: Sequence[Path] = (),
        interval: str = "1s",
        retention: str = "15d",
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        config = folder / "prometheus.yml"
        config.write_text(
            json.dumps(
                {
                    "global": {"scrape_interval": interval, "evaluation_interval": interval},
                    "rule_files": [str(path.resolve()) for path in rules],
                    "scrape_configs": [
                        {"job_name": job, "static_configs": [{"targets": list(addresses)}]}
                        for job, addresses in targets.items()
                    ],
                }
            ),
            encoding="utf-8",
        )
        listen = f"127.0.0.1:{free_port()}"
        super().__init__(f"http://{listen}")
        command = [
            program,
            f"--config.file={config}",
            f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address={listen}",
            f"--storage.tsdb.retention.time={retention}",
        ]
        self.process = processes.start("prometheus", command, environ=clean_environment())
        end = time.monotonic() + 30.0
        while True:
            try:
                self.query("vector(1)")
                return
            except (urllib.error.URLError, ConnectionError, QueryError):
                if time.monotonic() > end:
                    raise TimeoutError("Prometheus did not answer within 30 s") from None
                time.sleep(0.1)


class QueryError(ValueError):
    """A question that Prometheus does not take; the text is its own, with the question."""
