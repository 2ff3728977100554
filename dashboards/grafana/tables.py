"""Tables: which columns they show, how each is named, coloured and linked."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from grafana_foundation_sdk.builders import common, table
from grafana_foundation_sdk.models import dashboard as models

from .links import PanelLink
from .panels import SEVERITY_HUES, PanelSize, Steps, finished
from .queries import PanelQuery


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column of a table: the label it shows (or `Value #A`), its heading, unit and link."""

    source: str
    title: str
    unit: str = ""
    width: int | None = None
    link: PanelLink | None = None
    steps: Steps = field(default=())


def listing(
    title: str,
    description: str,
    *queries: PanelQuery,
    columns: Sequence[TableColumn],
    steps: Steps,
    size: PanelSize,
    sort: str = "",
    none: str = "none",
) -> table.Panel:
    """Return a table of what the queries find, merged by the labels that are shown.

    Columns stand in the order given; labels that none names are hidden.
    """
    built = table.Panel().show_header(True).no_value(none)
    if len(queries) > 1:
        built.with_transformation(models.DataTransformerConfig(id_val="merge", options={}))
    labels = {column.source: index for index, column in enumerate(columns)}
    built.with_transformation(
        models.DataTransformerConfig(
            id_val="filterFieldsByName", options={"include": {"names": list(labels)}}
        )
    )
    renamed = {column.source: column.title for column in columns}
    built.with_transformation(
        models.DataTransformerConfig(
            id_val="organize",
            options={"excludeByName": {}, "indexByName": labels, "renameByName": renamed},
        )
    )
    for column in columns:
        built.override_by_name(column.title, _column(column))
    if sort:
        built.sort_by([common.TableSortByFieldState().display_name(sort).desc(True)])
    return finished(built, title, description, "none", queries, steps, size)


_SEVERITIES = {
    name: {"index": index, "color": hue} for index, (name, hue) in enumerate(SEVERITY_HUES.items())
}


def _column(column: TableColumn) -> list[models.DynamicConfigValue]:
    found = []
    if column.unit:
        found.append(models.DynamicConfigValue("unit", column.unit))
    if column.width:
        found.append(models.DynamicConfigValue("custom.width", column.width))
    if column.steps:
        steps = [{"color": colour, "value": value} for value, colour in column.steps]
        found += [
            models.DynamicConfigValue("thresholds", {"mode": "absolute", "steps": steps}),
            models.DynamicConfigValue("custom.cellOptions", {"type": "color-text"}),
        ]
    if column.source == "severity":
        found += [
            models.DynamicConfigValue("mappings", [{"type": "value", "options": _SEVERITIES}]),
            models.DynamicConfigValue("custom.cellOptions", {"type": "color-text"}),
        ]
    if column.link:
        found.append(models.DynamicConfigValue("links", [column.link.document()]))
    return found
