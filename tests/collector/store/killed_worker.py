"""A process that commits and delivers until it is killed; run by test_killed.py.

The parent process imports everything and forks a worker for each line `FROM TO` on its standard
input, so that a worker starts at once and a kill can meet any point of its life. It answers with
the worker's pid, and with its exit status once it is gone.
"""

import os
import sys
import time

from rankscope.alerts.lifecycle import IncidentChange
from rankscope.collector.settings.store import WebhookSettings
from rankscope.collector.store import IncidentDatabaseStore
from rankscope.collector.store.deliver import OutboxDeliverer
from rankscope.vocabulary import entities
from rankscope.vocabulary.clock import SystemClock
from rankscope.vocabulary.ids import IncidentId
from rankscope.vocabulary.incidents import (
    DataQuality,
    Impact,
    Incident,
    RootCause,
    Symptom,
    UnknownScore,
)

STORY = ("opened", "updated", "resolved")
T0 = 1_700_000_000.0


def change(number: int) -> IncidentChange:
    """Return the change of this number: each incident opens, is updated, and is resolved."""
    incident, chapter = divmod(number, len(STORY))
    at = T0 + incident * 100
    rank = entities.rank(3, "gpu-1")
    resolved = STORY[chapter] == "resolved"
    return IncidentChange(
        f"incident.{STORY[chapter]}",  # type: ignore[arg-type]
        Incident(
            id=IncidentId(f"{incident:020}"),
            jobs=("run-1",),
            attempt=0,
            cluster=None,
            status="resolved" if resolved else "open",
            severity="critical",
            opened_at=at,
            detected_at=at,
            updated_at=at + chapter,
            resolved_at=at + chapter if resolved else None,
            summary=f"change {number}",
            symptoms=(Symptom("job.slow", rank, at, 1.5, "stragglers", "slow"),),
            root_cause=RootCause(
                "stable", "e", "1", (), UnknownScore(0.0, ()), (), DataQuality((), 0.0, 1.0)
            ),
            impact=Impact(8, 2, 1.5, 100.0),
        ),
        notify=True,
    )


def work(folder: str, store_url: str, first: int, last: int, url: str, secret: str) -> None:
    """Commit the changes from first up to last, noting each; then wait until all are delivered."""
    webhook = WebhookSettings.model_validate({"url": url, "secret": secret, "name": "receiver"})
    store = IncidentDatabaseStore(store_url, webhooks=[webhook])
    deliverer = OutboxDeliverer(outbox=store, clock=SystemClock())
    store.subscribe(lambda _: deliverer.wake())
    deliverer.start()
    noted = os.open(f"{folder}/committed", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for number in range(first, last):
        store.commit([change(number)], T0)
        os.write(noted, b"%d\n" % number)
    while store.queue().messages["pending"]:
        time.sleep(0.01)
    deliverer.stop()


def main() -> None:
    """Fork a worker for each line."""
    folder, store_url, url, secret = sys.argv[1:]
    for line in sys.stdin:
        first, last = map(int, line.split())
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                work(folder, store_url, first, last, url, secret)
                code = 0
            finally:
                os._exit(code)
        sys.stdout.write(f"{pid}\n")
        sys.stdout.flush()
        sys.stdout.write(f"{os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
