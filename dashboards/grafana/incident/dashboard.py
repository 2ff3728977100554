"""Incident: what broke, where, since when, and the evidence beside its peers."""

from grafana_foundation_sdk.models import dashboard as models

from .. import links
from ..frame import BuildOptions, DashboardSection, assemble, jobs, query
from .answer import what_row
from .evidence import job_row, node_row
from .selection import THIS


def build(given: BuildOptions) -> models.Dashboard:
    return assemble(
        links.INCIDENT,
        "Rankscope / Incident",
        "One incident: its cause, what it costs, and the evidence of its node and job.",
        given=given,
        variables=[
            jobs(many=True, everything=".*"),
            query(
                "incident",
                "Incident",
                'label_values(rankscope_incident_active{job_id=~"$job"}, incident)',
                description="incidents that were open in the time range",
            ),
            query(
                "host",
                "Node of the first cause",
                'label_values(rankscope_incident_active{incident="$incident"}, host_name)',
                description="where the first cause lies; several where it changed",
                many=True,
            ),
            query(
                "of_job",
                "Job of the incident",
                'label_values(rankscope_incident_active{incident="$incident"}, job_id)',
                description="the job whose ranks are shown",
                many=True,
            ),
        ],
        incidents=THIS,
        sections=[
            DashboardSection("What it is", what_row()),
            DashboardSection("The job", job_row()),
            DashboardSection("The node of the first cause", node_row()),
        ],
    )
