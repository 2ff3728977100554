"""The collector's part in a check: what others of a kind measured, and where results are kept."""

from collections.abc import Sequence

from ..checks import telemetry
from ..checks.judging import ComparedValues, JudgedCheck
from ..formats.otlp import encode
from .asking import CollectorAnswerError, CollectorClient

_MOST_SENT = 1000


class FleetReader:
    """Asks the collector what hosts of a kind measure, each question once.

    `troubles`: why it could not be asked, in words for people.
    """

    def __init__(self, collector: CollectorClient | None, *, host: str, place: str) -> None:
        self._collector, self._host, self._place = collector, host, place
        self._known: dict[tuple[str, str], ComparedValues | None] = {}
        self.troubles: list[str] = []

    def __call__(self, check: str, kind: str) -> ComparedValues | None:
        """Return the values of others, None where nobody knows any."""
        if self._collector is None or self.troubles:
            return None
        key = (check, kind)
        if key not in self._known:
            self._known[key] = self._asked(self._collector, check, kind)
        return self._known[key]

    def _asked(self, collector: CollectorClient, check: str, kind: str) -> ComparedValues | None:
        try:
            found = collector.get(
                "checks", "distribution", check=check, kind=kind, place=self._place, host=self._host
            )
            values = tuple(float(value) for value in found["values"])
        except (CollectorAnswerError, KeyError, TypeError, ValueError) as error:
            self.troubles.append(f"the fleet's values are not known: {error}")
            return None
        where = f" in {self._place}" if self._place else ""
        return ComparedValues(
            values, f"{len(values)} hosts of its kind{where}: {kind}".rstrip(": ")
        )


def send(
    collector: CollectorClient,
    host: str,
    at: float,
    results: Sequence[JudgedCheck],
    *,
    place: str = "",
    incident: str = "",
) -> str:
    """Hand results over: to the fleet's distribution, and as evidence. Return why not, "" if so."""
    kept = telemetry.document(host, at, results)["results"][:_MOST_SENT]
    body = {"host": host, "place": place, "results": kept}
    if incident:
        body["incident"] = incident
    try:
        collector.post("checks", body=body)
        said = telemetry.events(host, at, results, incident=incident)
        collector.send_logs(encode.logs_json((one.resource, [one]) for one in said))
    except CollectorAnswerError as error:
        return f"the results are not kept: {error}"
    return ""
