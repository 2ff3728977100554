"""What was diagnosed in the web console, until somebody stops it. Nothing is evaluated or kept."""

import signal
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from importlib import metadata
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import uvicorn

from ..alerts.lifecycle import IncidentChange
from ..vocabulary.clock import SystemClock
from ..vocabulary.incidents import Incident
from ..vocabulary.shapes import FieldPresence
from .api.app import create_app
from .api.services import CollectorParts
from .artefacts import FolderDiagnosis
from .flows.concluded import ConcludedFlow
from .history.journal_reader import FileJournalReader
from .pipeline.pipeline import DetectionPipeline
from .process import listening
from .process.listening import BoundSocket
from .profiles.shelf import ProfileShelf
from .settings.collector import CollectorSettings
from .store.store import IncidentDatabaseStore

_GRACE_SECONDS = 1
"""How long requests in progress may take at the end; streams of events never end by themselves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiagnosedIncident(Incident):
    """An incident with what it was diagnosed from, as `FolderDiagnosis.document` has it."""

    leftovers: Annotated[Mapping[str, Any], FieldPresence.FILLED]


def bind(port: int) -> BoundSocket:
    """Return a socket of 127.0.0.1, 0: any free port. Raises OSError where it is taken."""
    return listening.listen("127.0.0.1", port, protected=False)


def serve(diagnosis: FolderDiagnosis, bound: BoundSocket, ready: Callable[[str], None]) -> None:
    """Serve the incidents and the job of a diagnosis until SIGINT or SIGTERM; close the socket.

    `ready` gets the address of the gravest incident's page, once it is answered. What is on disk
    lies in a folder that is removed at the end.
    """
    with bound.socket, tempfile.TemporaryDirectory(prefix="rankscope-browse-") as folder:
        settings = CollectorSettings(data_dir=Path(folder))
        store = IncidentDatabaseStore(settings.store_url)
        try:
            app = create_app(_parts(diagnosis, settings, store))
            # The server ends on a signal and then raises it again: somebody must be there who does
            # nothing, or the process dies before the folder is removed.
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, _ending)
            bound.socket.listen()
            ready(f"{bound.address}/#/incidents/{_first(diagnosis)}")
            uvicorn.Server(
                uvicorn.Config(
                    app,
                    ws="none",
                    lifespan="off",
                    access_log=False,
                    log_config=None,
                    timeout_graceful_shutdown=_GRACE_SECONDS,
                )
            ).run(sockets=[bound.socket])
        finally:
            store.close()


def _parts(
    diagnosis: FolderDiagnosis, settings: CollectorSettings, store: IncidentDatabaseStore
) -> CollectorParts:
    """Return the parts of a collector that has evaluated all this and gets nothing more."""
    run, leftovers, first = diagnosis.run, diagnosis.leftovers(), _first(diagnosis)
    changes = [
        IncidentChange(
            kind="incident.opened",
            incident=_with(incident, leftovers) if incident.id == first else incident,
            notify=False,
        )
        for incident in run.incidents()
    ]
    assert isinstance(run.pipeline, DetectionPipeline)  # noqa: S101  no diagnosis has another
    until = max(change.incident.updated_at for change in changes)
    store.commit(changes, until)
    clock = SystemClock()
    return CollectorParts(
        stages=ConcludedFlow(
            run.pipeline,
            history=FileJournalReader(settings.journal_folder),
            profiles=ProfileShelf(settings.profiles_folder, settings.profiles),
        ),
        store=store,
        settings=settings,
        clock=clock,
        store_clock=clock,
        version=metadata.version("rankscope"),
        until=until,
    )


def _first(diagnosis: FolderDiagnosis) -> str:
    assert diagnosis.incident is not None  # noqa: S101  nothing is browsed else
    return str(diagnosis.incident["id"])


def _with(incident: Incident, leftovers: Mapping[str, Any]) -> DiagnosedIncident:
    values = {one.name: getattr(incident, one.name) for one in fields(incident) if one.init}
    return DiagnosedIncident(**values, leftovers=leftovers)


def _ending(_number: int, _frame: FrameType | None) -> None:
    """Do nothing: the server is ending already."""
