"""Every dashboard as the JSON text of its file."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import dashboard as models

from . import cluster, incident, itself, job, network, node
from .frame import Given

BUILDERS: tuple[Callable[[Given], models.Dashboard], ...] = (
    cluster.build,
    job.build,
    node.build,
    network.build,
    incident.build,
    itself.build,
)
SCHEMA_VERSION = 42


def documents(given: Given) -> Mapping[str, dict[str, Any]]:
    """Return every dashboard's document by its uid."""
    found = [document(build(given)) for build in BUILDERS]
    return {one["uid"]: one for one in found}


def document(dashboard: models.Dashboard) -> dict[str, Any]:
    """Return a dashboard as Grafana reads it.

    The SDK says of every link and annotation that it belongs into the menu of controls. Without
    that they are where they always were: in sight.
    """
    made: dict[str, Any] = json.loads(JSONEncoder().encode(dashboard))
    for one in (*made["links"], *made["annotations"]["list"]):
        one.pop("placement", None)
    return made


def text(document_: Mapping[str, Any]) -> str:
    """Return the text of a file: keys in order, so that a diff shows what changed."""
    return json.dumps(document_, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
