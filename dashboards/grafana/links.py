"""Links between the dashboards and into the console."""

from dataclasses import dataclass
from typing import Any

from grafana_foundation_sdk.builders import dashboard
from grafana_foundation_sdk.models import dashboard as models

TAG = "rankscope"
CLUSTER, JOB, NODE, NETWORK, INCIDENT, SELF = (
    f"rankscope-{name}" for name in ("cluster", "job", "node", "network", "incident", "self")
)
_KEPT = "${__url_time_range}&${datasource:queryparam}&${cluster:queryparam}"


@dataclass(frozen=True, slots=True)
class PanelLink:
    """A link of a field or panel. `url` may hold what Grafana replaces: `${__data.fields.job}`."""

    title: str
    url: str
    new_tab: bool = False

    def document(self) -> dict[str, Any]:
        """Return it for a column."""
        return {"title": self.title, "url": self.url, "targetBlank": self.new_tab}


def to(uid: str, title: str, **variables: str) -> PanelLink:
    """Return a link to a dashboard: time range, data source and cluster go along."""
    more = "".join(f"&var-{name}={value}" for name, value in variables.items())
    return PanelLink(title, f"/d/{uid}?{_KEPT}{more}")


TO_JOB = to(JOB, "The job", job="${__data.fields.Job}")
TO_NODE = to(NODE, "The node", host="${__data.fields.Node}")
TO_INCIDENT = to(INCIDENT, "The incident", incident="${__data.fields.Incident}")
"""From a row of a table to what its column names."""


def console_incident(identity: str) -> PanelLink:
    """Return a link to an incident's page in the console."""
    return PanelLink(
        "Causes and evidence in the console", f"${{console}}/#/incidents/{identity}", True
    )


def every_dashboard() -> dashboard.DashboardLink:
    """Return the menu of all dashboards, for the top of each."""
    return (
        dashboard.DashboardLink("Rankscope")
        .type(models.DashboardLinkType.DASHBOARDS)
        .tags([TAG])
        .as_dropdown(True)
        .include_vars(True)
        .keep_time(True)
    )


def console() -> dashboard.DashboardLink:
    return (
        dashboard.DashboardLink("Console")
        .type(models.DashboardLinkType.LINK)
        .icon("external link")
        .tooltip("Rankscope's own pages: incidents, causes, evidence")
        .url("${console}")
        .target_blank(True)
    )
