"""Rankscope itself: does the collector keep up, do agents report, do notices leave."""

from grafana_foundation_sdk.models import dashboard as models

from .. import links
from ..frame import BuildOptions, DashboardSection, assemble
from .agents import agents_row
from .collector import collector_row, notices_row, numbers_row


def build(given: BuildOptions) -> models.Dashboard:
    return assemble(
        links.SELF,
        "Rankscope / Rankscope itself",
        "Health of the collector and of the agents: load, lag, losses, deliveries.",
        given=given,
        variables=[],
        incidents='severity="critical"',
        sections=[
            DashboardSection("Now", numbers_row()),
            DashboardSection("Collector", collector_row()),
            DashboardSection("Notices", notices_row()),
            DashboardSection("Agents", agents_row()),
        ],
    )
