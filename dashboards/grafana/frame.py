"""What every dashboard has: variables, links, incidents as annotations, and panels in rows."""

from collections.abc import Sequence
from dataclasses import dataclass

from grafana_foundation_sdk.builders import dashboard
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.models import dashboard as models

from . import links
from .panels import SOURCE, AnyPanel
from .queries import of_any

WIDTH = 24
CONSOLE = "http://localhost:8470"
_ALL = models.VariableOption(text="All", value="$__all")


@dataclass(frozen=True, slots=True)
class DashboardSection:
    """A row of Grafana's: a heading that folds, and panels from left to right."""

    title: str
    panels: Sequence[AnyPanel]


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """What whoever builds may choose: the data source that is preset, and the console's address."""

    datasource: str | None = None
    console: str = CONSOLE


def query(
    name: str, label: str, text: str, *, description: str, many: bool = False, everything: str = ""
) -> dashboard.QueryVariable:
    """Return a variable with the values of a label.

    `many` allows several and All; `everything` is what All means where it is not the list.
    """
    built = (
        dashboard.QueryVariable(name)
        .label(label)
        .description(description)
        .datasource(SOURCE)
        .query({"query": text, "refId": f"variable-{name}"})
        .definition(text)
        .refresh(models.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(models.VariableSort.NATURAL_ASC)
        .multi(many)
        .include_all(many)
    )
    if many:
        built.current(_ALL)
        if everything:
            built.all_value(everything)
    return built


def jobs(*, many: bool = False, everything: str = "") -> dashboard.QueryVariable:
    """Return the variable `job`: those of the chosen clusters."""
    return query(
        "job",
        "Job",
        'label_values(rankscope_job_info{cluster=~"$cluster"}, job_id)',
        description="jobs that report to the collector",
        many=many,
        everything=everything,
    )


def cluster() -> dashboard.QueryVariable:
    """Return the variable `cluster`; All takes hosts too whose agent names none."""
    return query(
        "cluster",
        "Cluster",
        "label_values(system_memory_limit_bytes, cluster)",
        description="node.cluster of the agents",
        many=True,
        everything=".*",
    )


def assemble(
    uid: str,
    title: str,
    description: str,
    *,
    given: BuildOptions,
    variables: Sequence[Builder[models.VariableModel]],
    sections: Sequence[DashboardSection],
    incidents: str,
    since: str = "now-1h",
) -> models.Dashboard:
    """Return a dashboard. `incidents`: the labels that choose which incidents are annotations."""
    built = (
        dashboard.Dashboard(title)
        .uid(uid)
        .description(description)
        .tags([links.TAG])
        .editable()
        .tooltip(models.DashboardCursorSync.CROSSHAIR)
        .time(since, "now")
        .refresh("30s")
        .timezone("browser")
        .with_variable(_datasource(given))
        .with_variable(cluster())
        .link(links.every_dashboard())
        .link(links.console())
        .annotation(_annotation(incidents))
    )
    for variable in variables:
        built.with_variable(variable)
    built.with_variable(_console(given))
    made = built.build()
    made.panels = _placed(sections)
    return made


def _datasource(given: BuildOptions) -> dashboard.DatasourceVariable:
    built = dashboard.DatasourceVariable("datasource").label("Data source").type("prometheus")
    if given.datasource is not None:
        built.current(models.VariableOption(text=given.datasource, value=given.datasource))
    return built


def _console(given: BuildOptions) -> dashboard.TextBoxVariable:
    option = models.VariableOption(text=given.console, value=given.console)
    return (
        dashboard.TextBoxVariable("console")
        .label("Console")
        .description("address of the collector's own pages, as a browser reaches it")
        .default_value(given.console)
        .current(option)
        .options([option])
        .hide(models.VariableHide.HIDE_VARIABLE)
    )


def _annotation(incidents: str) -> dashboard.AnnotationQuery:
    """Return marks of a minute where incidents appear: whole incidents would cover the plots."""
    active = f'rankscope_incident_active{{{incidents}, severity!="info"}}'
    return (
        dashboard.AnnotationQuery()
        .name("Incidents")
        .datasource(SOURCE)
        .enable(True)
        .hide(False)
        .icon_color("red")
        .expr(f"{of_any(active)} unless on (incident) last_over_time({active}[5m] offset 1m)")
        .step("15s")
        .title_format("{{fault}}")
        .text_format("{{entity_type}} {{entity}} on {{host_name}}, incident {{incident}}")
        .tag_keys("severity,status,job_id")
    )


def _placed(sections: Sequence[DashboardSection]) -> list[models.Panel | models.RowPanel]:
    """Return the panels with their places and ids, left to right, row below row."""
    found: list[models.Panel | models.RowPanel] = []
    top = 0
    for section in sections:
        found.append(
            models.RowPanel(
                id_val=len(found) + 1,
                title=section.title,
                grid_pos=models.GridPos(h=1, w=WIDTH, x=0, y=top),
            )
        )
        top += 1
        left, tallest = 0, 0
        for builder in section.panels:
            panel = builder.build()
            place = panel.grid_pos or models.GridPos()
            if left + place.w > WIDTH:
                top, left, tallest = top + tallest, 0, 0
            panel.id_val, place.x, place.y = len(found) + 1, left, top
            found.append(panel)
            left, tallest = left + place.w, max(tallest, place.h)
        top += tallest
    return found
