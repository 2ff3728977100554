"""The page: what was measured, the model, its error, and what large clusters need by it."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .model import CORE_SHARE, HOSTS_JOINED, CapacityModel, ClusterNeeds, errors, largest
from .runs import SizeRun

_GIB, _MB = 1 << 30, 1e6


_ABOUT = (
    "How much CPU, memory and disk collectors need, by a model that is fitted to measured runs. "
    "Written by a command, which measures anew on your machine:"
)


_SHARES = (
    "A collector is one Python process and uses little more than one core, whatever the machine "
    f"has. Here each is given {CORE_SHARE:.0%} of a core on average, the rest is for bursts, "
    f"incidents and restarts: `collectors` is `cores` divided by {CORE_SHARE:g}, rounded up. More "
    "than one share their work as [several collectors](several-collectors.md) describes.\n\n"
    "`direct`: every agent pushes to the collectors itself. Nearly all of that is the cost of "
    f"messages. `joined`: OpenTelemetry Collectors between join the messages of {HOSTS_JOINED} "
    "hosts into one; what they cost themselves is not counted. Where `direct` asks for more than "
    "one collector, that is the way. One job is never divided, so the largest job sets a floor for "
    "one collector."
)


_WHOLE = (
    "The model is too kind to what is large. One job of 16,384 ranks, 40 series each, ten hosts a "
    "request, was measured whole at 8.0 % of a core and 617 MiB (load 2), three times what it says "
    "of these samples and messages; one of 100,000 ranks, earlier, at 83 % of a core and 3.5 GiB "
    "([operations](operations.md)), five times. The table is the model's alone: plan with five "
    "times the CPU under `joined`, and twice the memory."
)


_WAYS = Path(__file__).parent / "ways.md"
"""What was measured of other ways in, by hand; each row says how busy the machine was."""


_CLUSTERS = (
    "GPUs",
    "samples/s",
    "messages/s",
    "cores, direct",
    "collectors, direct",
    "cores, joined",
    "collectors, joined",
    "memory",
    "journal",
    "a day",
)


def machine_line(machine: Mapping[str, Any]) -> str:
    """Return the sentences on what was measured, and where."""
    return (
        f"Machine: {machine['processor']}, {machine['cores']} cores, load "
        f"{machine['load_average'][0]:g} when it began, Python {machine['python']}. CPU time of "
        "one process, without HTTP: decoding, journal with fsync, windows, detectors and causes "
        "of every second. Telemetry of one healthy job of our agents and probes."
    )


def page(
    runs: Sequence[SizeRun],
    model: CapacityModel,
    wanted: Sequence[ClusterNeeds],
    machine: Mapping[str, Any],
) -> str:
    """Return the page as Markdown."""
    most, others = largest(runs)
    off = errors(model, most)
    lines = [
        "# Capacity",
        "",
        "<!-- Written by `python -m bench.capacity --out docs/capacity.md`. -->",
        "",
        _ABOUT,
        "",
        "```sh",
        "python -m bench.capacity --out docs/capacity.md",
        "```",
        "",
        machine_line(machine),
        "",
        "## Measured, and what the model says",
        "",
        "| ranks | reported every | series | samples/s | cores | model | error | windows | error |",
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for run, cpu, memory in errors(model, [*others, *most]):
        cores = run.cpu_cores * (1 + cpu)
        lines.append(
            f"| {run.size.ranks:,} | {run.size.period} s | {run.series:,} | "
            f"{run.samples_a_second:,.0f} | {run.cpu_cores:.4f} | {cores:.4f} | {cpu:+.0%} | "
            f"{run.window_bytes / _MB:,.0f} MB | {memory:+.0%} |"
        )
    worst = max(abs(cpu) for _, cpu, _ in off)
    worst_memory = max(abs(memory) for _, _, memory in off)
    trusted = (
        f"The runs of {most[0].size.ranks:,} ranks, the largest, took no part in the fit: there "
        f"the model is off by at most **{worst:.0%}** in CPU and **{worst_memory:.0%}** in "
        "memory. Beyond that size nothing was measured, and the error may be larger."
    )
    formula = (
        f"cores = {model.constant:.2g} + {model.a_sample * 1e6:.3g} s per million samples x "
        f"samples/s + {model.a_rank * 1e6:.3g} millionths x ranks; windows "
        f"{model.bytes_a_series:,.0f} bytes a series; a message "
        f"{model.a_message * 1e3:.2f} ms beside its samples, measured with 250 agents of 8 GPUs "
        "that push once a second, HTTP and evaluation included; journal "
        f"{model.journal_bytes_a_sample:.2f} bytes a sample."
    )
    lines += [
        "",
        trusted,
        "",
        formula,
        "",
        "## What clusters need",
        "",
        "One rank a GPU, 37 series each, every 10 s; agents of 8 GPUs push once a second.",
        "",
        _row(_CLUSTERS),
        _row("---:" for _ in _CLUSTERS),
    ]
    lines += [
        f"| {one.gpus:,} | {one.samples_a_second:,.0f} | {one.messages_a_second:,.0f} | "
        f"{one.cores:.2f} | {one.collectors} | {one.cores_joined:.2f} | "
        f"{one.collectors_joined} | {one.memory_bytes / _GIB:,.1f} GiB | "
        f"{one.journal_bytes_a_second / _MB:,.2f} MB/s | "
        f"{one.journal_bytes_a_second * 86_400 / 1e9:,.0f} GB |"
        for one in wanted
    ]
    lines += [
        "",
        _SHARES,
        "",
        _WHOLE,
        "",
        "Series of an exporter that are scraped cost as samples do, and memory as series do.",
        "",
        _WAYS.read_text(encoding="utf-8").rstrip(),
    ]
    return "\n".join(lines) + "\n"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
