"""The kinds of panel that the dashboards use, each with unit, description and thresholds."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

from grafana_foundation_sdk.builders import (
    bargauge,
    common,
    dashboard,
    heatmap,
    prometheus,
    stat,
    statushistory,
    table,
    timeseries,
)
from grafana_foundation_sdk.models import common as common_models
from grafana_foundation_sdk.models import dashboard as models
from grafana_foundation_sdk.models import heatmap as heatmap_models
from grafana_foundation_sdk.models import prometheus as prometheus_models

from .queries import PanelQuery

SOURCE = models.DataSourceRef(type_val="prometheus", uid="${datasource}")

NO_DATA = "no data"
MOST_POINTS, MOST_TREND = 100, 50
"""Of a series: what a query costs grows with it, and a screen shows hardly more."""

_UNCOLOURED = models.SpecialValueMap(
    models.DashboardSpecialValueMapOptions(
        match=models.SpecialValueMatch.NULL_AND_NAN,
        result=models.ValueMappingResult(text=NO_DATA, color="text"),
    )
)

Steps = Sequence[tuple[float | None, str]]
"""Thresholds: from which value on which colour; the first begins at None."""

PLAIN: Steps = ((None, "blue"),)
"""A value that is neither good nor bad by itself."""

_UP_TO_ONE = ("percentunit", "none", "cps")
"""Units whose axis reaches 1 at least: where all is zero it would have one number many times."""

SEVERITY_HUES = {"critical": "red", "warning": "orange", "info": "blue"}

AnyPanel = (
    bargauge.Panel
    | heatmap.Panel
    | stat.Panel
    | statushistory.Panel
    | table.Panel
    | timeseries.Panel
)

P = TypeVar("P", bound=AnyPanel)

PanelSize = tuple[int, int]
"""Width and height on Grafana's grid: 24 columns, a row of it is 30 pixels."""


def above(warning: float, critical: float | None = None) -> Steps:
    """Return thresholds of a value that is bad when it is high."""
    steps: list[tuple[float | None, str]] = [(None, "green"), (warning, "orange")]
    if critical is not None:
        steps.append((critical, "red"))
    return steps


def below(warning: float, critical: float) -> Steps:
    """Return thresholds of a value that is bad when it is low."""
    return ((None, "red"), (critical, "orange"), (warning, "green"))


def number(
    title: str,
    description: str,
    unit: str,
    query: PanelQuery,
    *,
    steps: Steps,
    size: PanelSize = (4, 4),
    decimals: float | None = None,
    none: str = NO_DATA,
    trend: bool = False,
) -> stat.Panel:
    """Return one number, coloured by its thresholds; `trend` draws its course behind it.

    `none` says what it means that nothing is found. Where that is no good news, it has no colour.
    """
    graph = common_models.BigValueGraphMode
    built = (
        stat.Panel()
        .max_data_points(MOST_TREND)
        .graph_mode(graph.AREA if trend else graph.NONE)
        .color_mode(common_models.BigValueColorMode.VALUE)
        .text_mode(common_models.BigValueTextMode.VALUE)
        .reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
        .no_value(none)
    )
    if decimals is not None:
        built.decimals(decimals)
    if none == NO_DATA:
        built.mappings([_UNCOLOURED])
    return finished(built, title, description, unit, (query,), steps, size)


def lines(
    title: str,
    description: str,
    unit: str,
    *queries: PanelQuery,
    steps: Steps,
    size: PanelSize = (8, 7),
    stacked: bool = False,
    least: float | None = 0.0,
    logarithmic: bool = False,
    points: str = "",
    marked: bool = False,
    beside: str = "",
    none: str = "",
    every: str = "",
    hues: Mapping[str, str] | None = None,
) -> timeseries.Panel:
    """Return a plot. `points` names a series that is drawn as red points without a line.

    `marked` draws the thresholds; `beside` puts the legend to the right as a
    table of last and `max` or `min`, sorted by that: names that are long or many need the room.
    `none` says what it means that nothing is found; `every` is the
    least step; `hues` colours series by their legend.
    """
    legend = (
        common.VizLegendOptions()
        .show_legend(True)
        .display_mode(
            common_models.LegendDisplayMode.TABLE
            if beside
            else common_models.LegendDisplayMode.LIST
        )
        .placement(
            common_models.LegendPlacement.RIGHT if beside else common_models.LegendPlacement.BOTTOM
        )
    )
    if beside:
        legend.calcs(["lastNotNull", beside]).sort_by(beside.title()).sort_desc(beside == "max")
    built = (
        timeseries.Panel()
        .max_data_points(MOST_POINTS)
        .line_width(1)
        .fill_opacity(60 if stacked else 0)
        .show_points(common_models.VisibilityMode.NEVER)
        .legend(legend)
        .tooltip(
            common.VizTooltipOptions()
            .mode(common_models.TooltipDisplayMode.MULTI)
            .sort(common_models.SortOrder.DESCENDING)
        )
    )
    if least is not None and not logarithmic:
        built.min(least)
    if stacked:
        built.stacking(common.StackingConfig().mode(common_models.StackingMode.NORMAL).group("A"))
    if logarithmic:
        built.scale_distribution(
            common.ScaleDistributionConfig().type(common_models.ScaleDistribution.LOG).log(10)
        )
    if unit in _UP_TO_ONE and least is not None:
        built.axis_soft_max(1)
    if none:
        built.no_value(none)
    if every:
        built.interval(every)
    for name, hue in (hues or {}).items():
        built.override_by_name(
            name, [models.DynamicConfigValue("color", {"mode": "fixed", "fixedColor": hue})]
        )
    if marked:
        built.thresholds_style(
            common.GraphThresholdsStyleConfig().mode(common_models.GraphThresholdsStyleMode.DASHED)
        )
    if points:
        built.override_by_name(
            points,
            [
                models.DynamicConfigValue("custom.drawStyle", "points"),
                models.DynamicConfigValue("custom.showPoints", "always"),
                models.DynamicConfigValue("custom.pointSize", 9),
                models.DynamicConfigValue("color", {"mode": "fixed", "fixedColor": "red"}),
            ],
        )
    return finished(built, title, description, unit, queries, steps, size)


def heat(
    title: str,
    description: str,
    unit: str,
    query: PanelQuery,
    *,
    steps: Steps,
    rows: str,
    size: PanelSize,
) -> heatmap.Panel:
    """Return a heatmap with a row for each series; `rows` says what a row is."""
    built = (
        heatmap.Panel()
        .max_data_points(MOST_POINTS)
        .calculate(False)
        .show_legend()
        .cell_gap(0)
        .filter_values(heatmap.FilterValueRange().le(-1e300))
        .rows_frame(heatmap.RowsHeatmapOptions().layout(common_models.HeatmapCellLayout.AUTO))
        .cell_values(heatmap.CellValues().unit(unit))
        .y_axis(heatmap.YAxisConfig().axis_label(rows))
        .color(
            heatmap.HeatmapColorOptions()
            .mode(heatmap_models.HeatmapColorMode.SCHEME)
            .scheme("Turbo")
            .fill("dark-orange")
            .exponent(0.5)
            .steps(64)
            .reverse(False)
        )
    )
    return finished(built, title, description, unit, (query,), steps, size)


def states(
    title: str, description: str, query: PanelQuery, *, steps: Steps, none: str, size: PanelSize
) -> statushistory.Panel:
    """Return a row of coloured cells for each series, by thresholds."""
    built = (
        statushistory.Panel()
        .max_data_points(MOST_POINTS)
        .show_value(common_models.VisibilityMode.NEVER)
        .row_height(0.9)
        .col_width(1.0)
        .no_value(none)
        .fill_opacity(80)
        .color_scheme(dashboard.FieldColor().mode(models.FieldColorModeId.THRESHOLDS))
        .legend(
            common.VizLegendOptions()
            .show_legend(False)
            .display_mode(common_models.LegendDisplayMode.LIST)
            .placement(common_models.LegendPlacement.BOTTOM)
        )
    )
    return finished(built, title, description, "none", (query,), steps, size)


def bars(
    title: str,
    description: str,
    unit: str,
    query: PanelQuery,
    *,
    steps: Steps,
    size: PanelSize,
) -> bargauge.Panel:
    """Return a horizontal bar for each series, coloured by thresholds."""
    built = (
        bargauge.Panel()
        .interval("1m")
        .orientation(common_models.VizOrientation.HORIZONTAL)
        .display_mode(common_models.BarGaugeDisplayMode.BASIC)
        .show_unfilled(False)
        .min(0)
        .reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
        .color_scheme(dashboard.FieldColor().mode(models.FieldColorModeId.THRESHOLDS))
        .no_value("none")
    )
    return finished(built, title, description, unit, (query,), steps, size)


def finished(
    panel: P,
    title: str,
    description: str,
    unit: str,
    queries: Sequence[PanelQuery],
    steps: Steps,
    size: PanelSize,
) -> P:
    panel.title(title).description(description).unit(unit).datasource(SOURCE)
    panel.span(size[0]).height(size[1])
    panel.thresholds(
        dashboard.ThresholdsConfig()
        .mode(models.ThresholdsMode.ABSOLUTE)
        .steps([models.Threshold(value=value, color=colour) for value, colour in steps])
    )
    for number_, query in enumerate(queries):
        target = prometheus.Dataquery().expr(query.expr).ref_id("ABCDEFGHIJ"[number_])
        target.datasource(SOURCE)
        if query.legend:
            target.legend_format(query.legend)
        if query.instant:
            target.instant()
        else:
            target.range()
        form = prometheus_models.PromQueryFormat
        target.format(form.TABLE if query.table else form.TIME_SERIES)
        panel.with_target(target)
    return panel
