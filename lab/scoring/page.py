"""The page of results, docs/accuracy.md, with its pictures: generated, never edited.

It has no date and no duration: the same code and the same suite write the same bytes.
"""

import textwrap
import tomllib
from importlib import resources
from pathlib import Path

from . import matching, pictures, rows
from .rows import Document, Table

_INTRODUCTION = """\
# Accuracy

How well the detectors do on simulated training jobs with one fault each, and on healthy ones, and
how four simple methods do on the very same telemetry. This page is written by the command below;
do not edit it. Delays are in seconds of simulated time. Nothing on this page was measured on a real
cluster: faults act on a model of jobs and machines, which is seeded and can be run again by anybody
(`rankscope lab list` shows the faults, `rankscope lab run --fault ID` one of them).
"""

_MEASURES = f"""\
A case counts as *found* where an incident above info (info, where the fault's own severity is info
and the incident names no other fault, or where it names the true cause and entity), or else an
observation of what the fault shows at no cost, at the true entity, is about the faulty job, opens
after the onset (less {matching.TOLERANCE_SECONDS:g} s or {matching.TOLERANCE_STEPS:g} steps; where
it names the true cause and entity also less one reporting interval or a quarter of its delay) and
is reported between the onset and the end of the fault (plus {matching.GRACE_SECONDS:g} s or
{matching.GRACE_STEPS:g} steps). Any other incident above info is *false*. *Recall* leaves out cases
whose telemetry cannot show the fault (the rules are in `lab/suites/observable.toml`); they are
counted under "not observable". Recordings last minutes: slowness of which no cause is named is not
found in those that cost less than `evaluation.unnamed_gpu_hours` and `unnamed_minutes` ask for.

*Right entity*: among the cases found, those whose first hypothesis names the true entity, or one
that lies on it or contains it closely (its host, its rank, its device). Naming a neighbour on the
same host, or the whole job for one rank's fault, is wrong. *Right first cause*: right entity and
the right fault id.

*Wrong accusations*: incidents above info whose first hypothesis names a healthy host, device, rank,
port or process, as a share of all incidents above info.

*False per job-day* and *false pages* (severity critical) are counted over the healthy cases.

*Delays against their limits*: first report of any severity, counted from the moment at which the
fault has the effect that the limit is about: the start of the first step in which a rank's own work
takes 5 or 10 % longer, the moment at which the first rank stands still, the start of the step of
the first value that is not finite (but for gradients that a loss scaler skips); leaks and all other
delays on this page from the onset. A fault that ramps up, or acts at the end of a step, has its
effect later. The limits are in `lab/scoring/limits.toml`, and one reporting interval is granted on
top. *From the report*: the same limit without that interval, counted from the arrival of the first
report that can show the effect: from the host at fault, of a step that has ended under the effect
and is no longer warm-up. What was not found is not within its limit; a fault that never has the
effect of a limit is not held against it. *Time to exhaustion*: relative error when a leak is first
reported.

*Weak* faults have an effect of 5-10 %, or a sign that is easily overlooked.
"""

_LEFT_OUT = """\
Detectors are tuned on the laboratory's simulator. Believe these rows rather than those below: other
simulators, with other healthy habits and other ways to report, on seeds that nobody looked at
before they were scored, once ([how they are made](laboratory.md#a-second-world)). They hold few
cases: a figure is good to about one in ten. *False in quiet jobs*: incidents a healthy case of ten
to twenty minutes; those above info.
"""

_LEFT_OUT_COLUMNS = {
    "cases": "cases",
    "build": "build",
    "precision": "precision",
    "recall": "recall",
    "weak": "weak faults",
    "cause": "first cause",
    "entity": "right entity",
    "quiet": "false in quiet jobs",
    "calibration": "calibration error",
}

_BASELINES = """\
The simple methods get the same telemetry on a grid of 5 s and name an entity, never a cause:
*3 sigma* compares every series with its own past, *fixed thresholds* are common Prometheus rules,
*loudest metric* takes the entity that is farthest from its peers in any metric, *isolation forest*
is scikit-learn's over vectors per rank. Their alarms within five minutes are one incident.
"""


_RANKING = """\
*Right cause among the first three*: one of the first three hypotheses has the true fault and the
right entity. *Wrong with high confidence*: incidents above info, false ones included, whose first
hypothesis is wrong and of high confidence, as a share of all incidents above info. *Expected
calibration error*: how far probabilities and the share that is right are apart, in ten bins.
*Cascades folded*: cases found whose fault gave one incident above info and no second.
"""


def write(document: Document, folder: Path) -> list[Path]:
    """Write the page and its pictures under a folder of documentation; return the files."""
    images = folder / "images"
    images.mkdir(parents=True, exist_ok=True)
    files = {
        folder / "accuracy.md": text(document),
        images / "accuracy-confusion.svg": pictures.confusion(document["confusion"]),
        images / "accuracy-delays.svg": pictures.delays(document["delays"]),
        images / "accuracy-reliability.svg": pictures.reliability(document["reliability"]),
    }
    for path, content in files.items():
        path.write_text(content, encoding="utf-8")
    return list(files)


def text(document: Document) -> str:
    versions = ", ".join(f"{name} {value}" for name, value in document["versions"].items())
    made = (
        f"Suite `{document['suite']}`, seed {document['seed']}: {document['cases']} cases, "
        f"{len(document['faults'])} fault ids, {document['healthy']} healthy cases. "
        f"Made with {versions}.\n"
    )
    parts = [
        _INTRODUCTION,
        f"```\n{document['command']}\n```\n",
        made,
        _left_out(),
        "## The figures\n",
        _markdown(rows.methods(document)),
        _BASELINES,
        "## What the columns say\n",
        "\n".join(map(_item, _MEASURES.split("\n\n"))) + "\n",
        _others(),
        "## The ranking of causes\n",
        _markdown(rows.ranking(document)),
        _RANKING,
        "![Probability and share that is right](images/accuracy-reliability.svg)\n",
        "## Where it does well, and where not\n",
        "![Confusion matrix of first causes](images/accuracy-confusion.svg)\n",
        "![Delay from onset to incident by fault](images/accuracy-delays.svg)\n",
        *(
            f"### {title}\n\n{_markdown((title, columns, lines))}"
            for title, columns, lines in (
                rows.delay_limits(document),
                rows.exhaustion(document),
                *(rows.breakdown(document, name) for name in rows.TITLES),
            )
            if lines
        ),
        "## Every mistake\n",
        *(
            f"### {title}\n\n{_markdown((title, columns, lines))}"
            for title, columns, lines in rows.problems(document)
        ),
    ]
    if document["errors"]:
        names = ", ".join(f"`{row['case']}`" for row in document["errors"])
        parts.append(f"### Errors\n\nThese cases raised an exception: {names}.\n")
    return "\n".join(parts)


def _left_out() -> str:
    """Return what other generators say, on seeds that nobody tuned on."""
    text = resources.files(__package__ or "").joinpath("left_out.toml").read_text("utf-8")
    lines = [
        tuple(str(row[key]) for key in _LEFT_OUT_COLUMNS) for row in tomllib.loads(text)["left_out"]
    ]
    table = _markdown(("", tuple(_LEFT_OUT_COLUMNS.values()), lines))
    return f"## Left out of all tuning\n\n{_LEFT_OUT}\n{table}"


def _others() -> str:
    text = resources.files(__package__ or "").joinpath("others.toml").read_text("utf-8")
    lines = [
        (str(row["name"]), str(row["figures"]), str(row["setting"]))
        for row in tomllib.loads(text)["system"]
    ]
    table = _markdown(("", ("system", "published", "how the setting differs"), lines))
    return f"## Beside what others have published\n\n{table}"


def _item(text: str) -> str:
    return textwrap.fill(
        " ".join(text.split()),
        100,
        initial_indent="- ",
        subsequent_indent="  ",
        break_on_hyphens=False,
    )


def _markdown(table: Table) -> str:
    _, columns, lines = table
    rule = "|".join("---" for _ in columns)
    shown = [f"| {' | '.join(map(_cell, line))} |" for line in lines]
    return "\n".join([f"| {' | '.join(columns)} |", f"|{rule}|", *shown]) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
