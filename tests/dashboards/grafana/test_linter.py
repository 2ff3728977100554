"""What Grafana's dashboard linter asks for, and what we ask for besides."""

import re
from itertools import combinations
from typing import Any

import promql_parser
import pytest

from bench.live import asking

SPAN = asking.QueryRange(0.0, 3600.0)
OWN = {**SPAN.words(), "datasource": "prometheus", "console": "http://c"}
LABEL = re.compile(r"\{\{(\w+)\}\}")
COUNTERS = ("rate", "increase", "irate", "max_over_time", "offset")
FREE = ("Value", "Value #A", "Value #B", "Value #C", "Value #D", "Value #E", "Value #F")


@pytest.fixture(params=["cluster", "job", "node", "network", "incident", "self"])
def document(request, documents):
    return documents[f"rankscope-{request.param}"]


def panels(document):
    return [one for one in document["panels"] if one["type"] != "row"]


def variables(document):
    return {one["name"]: one for one in document["templating"]["list"]}


def substituted(document, text):
    """Return a query with something in the place of every variable."""
    values = {name: f"any-{name}" for name in variables(document)}
    return asking.substituted(text, {**values, **OWN})


def queries(document):
    return [
        (panel["title"], target, substituted(document, target["expr"]))
        for panel in panels(document)
        for target in panel["targets"]
    ]


def selectors(expression):
    """Return every selector in an expression: (name, labels, range or None, functions around)."""
    found: list[Any] = []

    def walk(node, around):
        if isinstance(node, promql_parser.VectorSelector):
            found.append((node, None, around))
        elif isinstance(node, promql_parser.MatrixSelector):
            found.append((node.vector_selector, node.range, around))
        elif isinstance(node, promql_parser.Call):
            for argument in node.args:
                walk(argument, (*around, node.func.name))
        elif isinstance(node, promql_parser.BinaryExpr):
            walk(node.lhs, around)
            walk(node.rhs, around)
        elif isinstance(
            node,
            (
                promql_parser.AggregateExpr,
                promql_parser.SubqueryExpr | promql_parser.ParenExpr,
                promql_parser.UnaryExpr,
            ),
        ):
            walk(node.expr, around)

    walk(promql_parser.parse(expression), ())
    return found


def test_the_data_source_is_a_variable_and_every_panel_and_target_uses_it(document):
    assert "datasource" == variables(document)["datasource"]["type"]
    assert "prometheus" == variables(document)["datasource"]["query"]
    used = [panel["datasource"] for panel in panels(document)]
    used += [target["datasource"] for panel in panels(document) for target in panel["targets"]]
    used += [one["datasource"] for one in document["annotations"]["list"]]
    used += [one["datasource"] for one in variables(document).values() if one["type"] == "query"]
    assert [] == [one for one in used if one != {"type": "prometheus", "uid": "${datasource}"}]


def test_variables_are_asked_anew_when_the_time_range_changes(document):
    asked = [one for one in variables(document).values() if one["type"] == "query"]
    assert asked
    for one in asked:
        assert (one["name"], 2) == (one["name"], one["refresh"])
        query = substituted(document, one["query"]["query"])
        (match,) = re.findall(r"label_values\((.*), (\w+)\)$", query, re.DOTALL)
        promql_parser.parse(match[0])
        assert one["label"]
        assert one["description"]


def test_every_panel_has_title_description_unit_thresholds_and_queries(document):
    for panel in panels(document):
        assert panel["title"]
        assert panel["description"].endswith(".")
        assert panel["targets"]
        defaults = panel["fieldConfig"]["defaults"]
        assert defaults["unit"]
        assert defaults["thresholds"]["steps"]
        assert defaults["thresholds"]["steps"][0]["value"] is None
        values = [step["value"] for step in defaults["thresholds"]["steps"][1:]]
        assert sorted(values) == values
    titles = [panel["title"] for panel in panels(document)]
    numbers = [panel for panel in panels(document) if panel["type"] == "stat"]
    assert len(titles) == len({*titles})
    judged = [
        one for one in numbers if len(one["fieldConfig"]["defaults"]["thresholds"]["steps"]) > 1
    ]
    assert judged


def test_ids_and_places_are_unique_and_panels_do_not_overlap(document):
    ids = [panel["id"] for panel in document["panels"]]
    assert len(ids) == len({*ids})
    places = [(one["title"], one["gridPos"]) for one in document["panels"]]
    for title, place in places:
        assert (title, True) == (title, place["x"] + place["w"] <= 24)
    for (first, one), (second, other) in combinations(places, 2):
        apart = (
            one["x"] + one["w"] <= other["x"]
            or other["x"] + other["w"] <= one["x"]
            or one["y"] + one["h"] <= other["y"]
            or other["y"] + other["h"] <= one["y"]
        )
        assert apart, (first, second)


def test_rates_take_the_interval_that_grafana_computes(document):
    for title, target, _ in queries(document):
        for span in re.findall(r"(?:rate|increase|deriv)\([^\[\]]*\[([^\]:]+)\]", target["expr"]):
            assert (title, True) == (title, span in ("$__rate_interval", "$__range"))


def test_a_counter_is_never_read_as_it_is(document):
    """target-counter-agg: sums over counters of restarted processes mean nothing."""
    whole = {
        "rankscope_gpu_seconds_lost_total",
        "rankscope_cause_gpu_seconds_lost_total",
        "rankscope_host_gpu_seconds_lost_total",
    }
    for title, _, expression in queries(document):
        for selector, span, around in selectors(expression):
            if selector.name.endswith("_total") and selector.name not in whole:
                assert (title, selector.name, True) == (title, selector.name, span is not None)
                assert {*around} & {*COUNTERS}, (title, selector.name)


def test_every_series_and_label_is_one_that_is_exported(document, exported):
    asked = queries(document)
    asked += [("annotation", {}, one["expr"]) for one in document["annotations"]["list"]]
    for title, target, expression in asked:
        text = substituted(document, expression)
        used = {*LABEL.findall(target.get("legendFormat", ""))}
        there = set()
        for selector, _, _ in selectors(text):
            assert (title, True) == (title, selector.name in exported), selector.name
            labels = {one.name for one in selector.matchers.matchers}
            assert labels <= exported[selector.name], (title, selector.name, labels)
            there |= exported[selector.name]
        assert used <= there, (title, used - there)


def test_a_legend_names_what_distinguishes_its_series(document):
    """A GPU's or rank's number alone is the same on every node."""
    for panel in panels(document):
        for target in panel["targets"]:
            legend = {*LABEL.findall(target.get("legendFormat", ""))}
            numbered = legend & {"gpu", "device", "port", "resource", "mountpoint", "reason"}
            if "status" in legend or document["uid"] == "rankscope-self":
                assert "instance" in legend or legend == set(), panel["title"]
            elif numbered:
                assert "host_name" in legend, panel["title"]
        many = [one for one in panel["targets"] if "{{" not in one.get("legendFormat", "{{")]
        legends = [one["legendFormat"] for one in many]
        assert len(legends) == len({*legends})


def test_columns_of_tables_come_from_the_queries(document, exported):
    for panel in panels(document):
        if panel["type"] != "table":
            continue
        organize = panel["transformations"][-1]["options"]
        there = {*FREE}
        for target in panel["targets"]:
            for selector, _, _ in selectors(substituted(document, target["expr"])):
                there |= exported[selector.name]
        assert {*organize["renameByName"]} <= there
        titles = list(organize["renameByName"].values())
        overridden = [one["matcher"]["options"] for one in panel["fieldConfig"]["overrides"]]
        assert {*overridden} <= {*titles}
        for sort in panel["options"].get("sortBy", ()):
            assert sort["displayName"] in titles


def test_links_lead_to_dashboards_and_variables_that_exist(document, documents):
    text = repr(document)
    for uid, rest in re.findall(r"/d/([\w-]+)\?([^'\"]*)", text):
        assert uid in documents
        for name in re.findall(r"var-(\w+)=", rest):
            assert name in variables(documents[uid])
    for name in re.findall(r"__data\.fields\.(\w+)", text):
        titles = [
            title
            for panel in panels(document)
            if panel["type"] == "table"
            for title in panel["transformations"][-1]["options"]["renameByName"].values()
        ]
        assert name in titles
    assert "${console}/#/incidents/" in repr(documents["rankscope-incident"])
    menus = [one for one in document["links"] if one["type"] == "dashboards"]
    assert [["rankscope"]] == [one["tags"] for one in menus]
    assert document["tags"] == ["rankscope"]


def test_incidents_are_annotations_of_every_dashboard(document):
    (annotation,) = document["annotations"]["list"]
    promql_parser.parse(substituted(document, annotation["expr"]))
    assert annotation["expr"].startswith("max without (instance, pod) (rankscope_incident_active{")
    assert annotation["enable"]
    assert LABEL.findall(annotation["titleFormat"]) == ["fault"]


def test_dashboards_have_the_variables_that_the_links_hand_on(documents):
    for document in documents.values():
        assert {"datasource", "cluster", "console"} <= set(variables(document))
    assert {"job", "host", "rank"} <= set(variables(documents["rankscope-job"]))


def test_rules_name_only_what_is_exported_or_recorded(rules, exported):
    recorded: dict[str, frozenset[str]] = {
        rule["record"]: frozenset() for rule in rules if "record" in rule
    }
    for rule in rules:
        for selector, _, _ in selectors(rule["expr"]):
            assert selector.name in exported or selector.name in recorded, selector.name
            labels = {one.name for one in selector.matchers.matchers}
            assert labels <= exported.get(selector.name, frozenset()), selector.name
    names = [rule.get("alert") or rule["record"] for rule in rules]
    assert len(names) == len({*names})


def test_a_number_that_nothing_reports_has_no_colour(document):
    """Green would say that all is well."""
    for panel in panels(document):
        defaults = panel["fieldConfig"]["defaults"]
        if panel["type"] == "stat" and defaults["noValue"] == "no data":
            (mapping,) = defaults["mappings"]
            assert mapping["options"]["match"] == "null+nan"
            assert mapping["options"]["result"]["color"] == "text"
