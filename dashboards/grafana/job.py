"""Job: how training goes, which rank is slow, where the time goes, who waits for whom."""

from collections.abc import Mapping

from grafana_foundation_sdk.models import dashboard as models

from . import links
from .frame import Given, Put, Section, assemble, jobs, query
from .panels import PLAIN, Column, above, below, heat, lines, listing, number
from .queries import (
    HOSTS,
    JOB,
    MOST_RANKS,
    MOST_SMALL,
    RANKS,
    Query,
    by_gpu,
    chosen,
    few,
    highest,
    now,
    rows,
)

_INCIDENTS = 'job_id="$job"'
_WAITS = f"rankscope_group_wait_seconds{{{_INCIDENTS}}}"
_RANK = "{{host_name}} rank {{rank}}"
_OF_RANK = "host_name, rank"


def build(given: Given) -> models.Dashboard:
    """Return the dashboard."""
    return assemble(
        links.JOB,
        "Rankscope / Job",
        "One training job: loss, step time by rank, phases, waits, memory, incidents.",
        given=given,
        variables=[
            jobs(),
            query(
                "host",
                "Node",
                'label_values(training_rank_info{cluster=~"$cluster", job_id="$job"}, host_name)',
                description="nodes that the job runs on; plots by rank show theirs",
                many=True,
                everything=".*",
            ),
            query(
                "rank",
                "Rank",
                'label_values(training_rank_info{cluster=~"$cluster", job_id="$job",'
                ' host_name=~"$host"}, rank)',
                description="global ranks; plots by rank show these",
                many=True,
                everything=".*",
            ),
        ],
        incidents=_INCIDENTS,
        sections=[
            Section("Now", _numbers()),
            Section("Incidents", [_incidents(), _scores()]),
            Section("Loss", _loss()),
            Section("Which rank is slow", _ranks()),
            Section("Where the time goes, and who waits for whom", _time()),
            Section("Memory", _memory()),
            Section("Devices of the job", _devices()),
        ],
    )


def placed(metric: str, top: str, **labels: str) -> str:
    """Return a device's metric by the rank that is on it, of the devices that `top` chooses.

    Only the few that are chosen are looked at in each point of time.
    """
    chosen_ = f"{_of_devices(metric, labels)} and on (host_name, hw_id) {top}"
    return by_gpu(chosen_, "rank")


def extreme(metric: str, function: str, sign: str = "", **labels: str) -> str:
    """Return the devices with a rank of the job on which a metric is most in the time range."""
    over = f"{function}({_of_devices(metric, labels)}[$__range] @ end())"
    return (
        f"topk({MOST_SMALL}, {sign}max by (host_name, hw_id) ({over}) and on (host_name, hw_id)"
        f" last_over_time(training_rank_info{{{RANKS}}}[$__range] @ end()))"
    )


def _of_devices(metric: str, labels: Mapping[str, str]) -> str:
    more = "".join(f', {name}="{value}"' for name, value in labels.items())
    return f'{metric}{{{HOSTS}, rank=~"$rank", rank!=""{more}}}'


def _numbers() -> list[Put]:
    step = f"quantile(0.5, training_step_duration_seconds{{{JOB}}})"
    panels = [
        number(
            "Goodput",
            "Share of the job's GPU time that incidents left.",
            "percentunit",
            Query(f"rankscope_job_goodput_ratio{{{_INCIDENTS}}}"),
            steps=below(0.97, 0.9),
            decimals=1,
            trend=True,
        ),
        number(
            "Step time",
            "Median over ranks of the last step.",
            "s",
            Query(step),
            steps=PLAIN,
            decimals=2,
            trend=True,
        ),
        number(
            "Step",
            "Index of the newest step.",
            "none",
            now(f"max(training_step{{{JOB}}})"),
            steps=PLAIN,
        ),
        number(
            "Tokens per second",
            "Tokens (or samples) of all ranks in a step, by the median duration of the step.",
            "short",
            Query(f"sum(training_tokens{{{JOB}}}) / {step}"),
            steps=PLAIN,
            decimals=1,
            trend=True,
        ),
        number(
            "Ranks missing",
            "World size less the ranks that report.",
            "none",
            now(
                f"max(rankscope_job_ranks{{{_INCIDENTS}}}) - count(count by (rank)"
                f" (training_rank_info{{{JOB}}}))"
            ),
            steps=above(1, 1)[::2],
        ),
        number(
            "Longest without a step",
            "Time since the last step ended, on the rank for which that is longest.",
            "s",
            now(f"max(training_progress_age_seconds{{{JOB}}})"),
            steps=above(60, 300),
            decimals=1,
        ),
        number(
            "Waiting in collectives",
            "Share of the step that ranks wait in collectives, mean over ranks.",
            "percentunit",
            Query(
                f"avg(training_comm_duration_seconds{{{JOB}}})"
                f" / avg(training_step_duration_seconds{{{JOB}}})"
            ),
            steps=above(0.3, 0.5),
            decimals=0,
            trend=True,
        ),
        number(
            "GPU-hours lost",
            "GPU time that the job's incidents took, of all its attempts.",
            "suffix: GPU h",
            now(f"sum(rankscope_gpu_seconds_lost_total{{{_INCIDENTS}}}) / 3600 or vector(0)"),
            steps=above(1, 24),
            decimals=2,
        ),
    ]
    return [Put(panel, 3, 4) for panel in panels]


def _incidents() -> Put:
    return Put(
        listing(
            "Incidents that are not resolved",
            "First cause of each, where it lies, and what it took so far.",
            rows(f"rankscope_incident_active{{{_INCIDENTS}}}"),
            rows(f"rankscope_incident_gpu_seconds_lost{{{_INCIDENTS}}} / 3600"),
            columns=[
                Column("severity", "Severity", width=80),
                Column("fault", "Fault", width=180),
                Column("host_name", "Node", width=120, link=links.TO_NODE),
                Column("entity", "Entity"),
                Column("Value #B", "GPU h lost", "short", 95, steps=above(1, 24)),
                Column("incident", "Incident", width=190, link=links.TO_INCIDENT),
            ],
            steps=PLAIN,
            sort="GPU h lost",
            none="no incident",
        ),
        15,
        6,
    )


def _scores() -> Put:
    return Put(
        lines(
            "Ranks that stand out",
            "Scores of detectors; from 1 on a rank is reported. The 20 highest.",
            "short",
            Query(
                highest(f"rankscope_detector_score{{{_INCIDENTS}}}", "detector, rank"),
                "rank {{rank}} {{detector}}",
            ),
            steps=above(1, 5),
            beside=True,
            none="no rank stands out",
        ),
        9,
        6,
    )


def _loss() -> list[Put]:
    def with_spikes(metric: str, what: str) -> tuple[Query, Query, Query]:
        highest_ = f"max(training_{metric}{{{JOB}}})"
        usual = f"quantile_over_time(0.5, {highest_}[10m:$__interval])"
        spread = f"quantile_over_time(0.9, {highest_}[10m:$__interval])"
        return (
            Query(f"quantile(0.5, training_{metric}{{{JOB}}})", f"{what}, median of ranks"),
            Query(highest_, f"{what}, highest rank"),
            Query(f"{highest_} > 1.3 * {usual} and {highest_} > 1.1 * {spread}", "spike"),
        )

    return [
        Put(
            lines(
                "Loss",
                "Median and highest over ranks. Red: more than 1.3 times the median of the "
                "10 minutes before. A gap is a value that is not finite.",
                "short",
                *with_spikes("loss", "loss"),
                steps=PLAIN,
                least=None,
                points="spike",
            ),
            8,
            8,
        ),
        Put(
            lines(
                "Gradient norm",
                "Median and highest over ranks, before and after clipping as reported. Red: a "
                "spike, as for the loss.",
                "short",
                *with_spikes("grad_norm", "norm"),
                steps=PLAIN,
                points="spike",
            ),
            8,
            8,
        ),
        Put(
            lines(
                "Learning rate",
                "As the optimizer used it in the last step.",
                "sci",
                Query(f"max(training_learning_rate{{{JOB}}})", "learning rate"),
                steps=PLAIN,
            ),
            4,
            8,
        ),
        Put(
            lines(
                "Non-finite values",
                "NaN and Inf that ranks met in a step: any is an incident.",
                "none",
                Query(f"sum by (of) (training_nonfinite{{{JOB}}})", "{{of}}"),
                steps=above(1, 1)[::2],
                marked=True,
            ),
            4,
            8,
        ),
    ]


def _ranks() -> list[Put]:
    step = f"training_step_duration_seconds{{{RANKS}}}"
    both = "training_step_duration_seconds", "training_comm_duration_seconds"
    usual = " - ".join(
        f"max by (rank) (avg_over_time({one}{{{RANKS}}}[$__range] @ end()))" for one in both
    )
    slowest = f"topk({MOST_RANKS}, {usual})"
    own = " - ".join(f"max by (rank) ({one}{{{RANKS}}} and on (rank) {slowest})" for one in both)
    by_rank = f"The {MOST_RANKS} highest of the time range; choose nodes or ranks above for others."
    return [
        Put(
            heat(
                "Own time by rank",
                "Step time less the wait in collectives: what a rank itself needs. In a "
                f"synchronous job the rank that is hot here holds up all others. {by_rank}",
                "s",
                Query(own, "{{rank}}"),
                steps=PLAIN,
                rows="rank",
            ),
            12,
            10,
        ),
        Put(
            heat(
                "Step time by rank",
                "Wall time of the step. Equal colours in a column: all wait for one another. "
                f"{by_rank}",
                "s",
                Query(highest(step, "rank", MOST_RANKS), "{{rank}}"),
                steps=PLAIN,
                rows="rank",
            ),
            12,
            10,
        ),
    ]


def _time() -> list[Put]:
    def phase(name: str, absent: str = "") -> str:
        return f"avg(training_{name}_duration_seconds{{{JOB}}}){absent}"

    return [
        Put(
            lines(
                "Where the time goes",
                "Phases of a step, mean over ranks. Checkpoint and collector show in the steps "
                "that had any.",
                "s",
                Query(phase("compute"), "forward and backward"),
                Query(phase("comm"), "waiting in collectives"),
                Query(phase("data"), "waiting for data"),
                Query(phase("optimizer"), "optimizer"),
                Query(phase("checkpoint", " or vector(0)"), "checkpoint"),
                Query(phase("gc", " or vector(0)"), "garbage collector"),
                steps=PLAIN,
                stacked=True,
            ),
            9,
            9,
        ),
        Put(
            listing(
                "Who waits for whom",
                "Groups of ranks, the member that comes last to its collectives, and how long all "
                "others of the group wait for it a step, summed. The worst 20.",
                rows(f"topk(20, rankscope_group_wait_seconds{{{_INCIDENTS}}})"),
                columns=[
                    Column("group", "Group that waits"),
                    Column("kind", "Kind", width=60),
                    Column("rank", "For rank", width=75),
                    Column("host_name", "Node", width=130, link=links.TO_NODE),
                    Column("Value", "Waits a step", "s", 105, steps=above(0.5, 2)),
                ],
                steps=PLAIN,
                sort="Waits a step",
                none="nobody waits",
            ),
            8,
            9,
        ),
        Put(
            lines(
                "Waited for, by rank",
                "The same over time: how long groups wait for their last rank, a step. Top 10.",
                "s",
                Query(
                    chosen(
                        f"sum by ({_OF_RANK}) ({_WAITS})",
                        _OF_RANK,
                        f"sum by ({_OF_RANK}) (avg_over_time({_WAITS}[$__range] @ end()))",
                        10,
                    ),
                    _RANK,
                ),
                steps=above(0.5, 2),
            ),
            7,
            9,
        ),
    ]


def _memory() -> list[Put]:
    fullest = extreme("hw_gpu_memory_usage_bytes", "max_over_time")
    used = placed("hw_gpu_memory_usage_bytes", fullest)
    there = placed("hw_gpu_memory_limit_bytes", fullest)
    resident = f"process_memory_usage_bytes{{{RANKS}}}"
    by_role = "host_name, rank, role"
    return [
        Put(
            lines(
                "Memory of the framework by rank",
                "Bytes that the framework's allocator holds from the device; the 12 highest.",
                "bytes",
                Query(
                    highest(f"training_memory_reserved_bytes{{{RANKS}}}", _OF_RANK, MOST_SMALL),
                    _RANK,
                ),
                steps=PLAIN,
                least=None,
            ),
            8,
            8,
        ),
        Put(
            lines(
                "Fullest devices",
                "Device memory in use, as a share of what the device has; the 12 fullest.",
                "percentunit",
                Query(
                    f"{used} / {there}",
                    "{{host_name}} rank {{rank}} GPU {{gpu}}",
                ),
                steps=above(0.92, 0.98),
                least=None,
                marked=True,
            ),
            8,
            8,
        ),
        Put(
            lines(
                "Host memory by rank",
                "Resident memory of trainers and their data loaders; the 12 highest.",
                "bytes",
                Query(
                    few(
                        resident,
                        by_role,
                        f"max_over_time({resident}[$__range] @ end())",
                        MOST_SMALL,
                        operation="sum",
                    ),
                    "{{host_name}} rank {{rank}} {{role}}",
                ),
                steps=PLAIN,
            ),
            8,
            8,
        ),
    ]


def _devices() -> list[Put]:
    device = "{{host_name}} GPU {{gpu}} rank {{rank}}"
    slowest = extreme("hw_frequency_hertz", "min_over_time", "-", domain="sm")
    hottest = extreme("hw_temperature_celsius", "max_over_time", hw_sensor="gpu")
    work = f'{{{HOSTS}, rank!=""}} and on (host_name, hw_id) training_rank_info{{{RANKS}}}'
    return [
        Put(
            lines(
                "Lowest SM clocks",
                "Clock of the 12 devices that ran slowest in the time range; power capping lowers "
                "all, a fault lowers one.",
                "hertz",
                Query(
                    placed("hw_frequency_hertz", slowest, domain="sm"),
                    device,
                ),
                steps=PLAIN,
                least=None,
            ),
            8,
            8,
        ),
        Put(
            lines(
                "Hottest devices",
                "Temperature of the 12 devices that grew hottest.",
                "celsius",
                Query(
                    placed("hw_temperature_celsius", hottest, hw_sensor="gpu"),
                    device,
                ),
                steps=above(80, 88),
                least=None,
                marked=True,
            ),
            8,
            8,
        ),
        Put(
            lines(
                "Utilization and matrix units",
                "Mean over the job's devices. Kernels that run but leave the matrix units idle do "
                "not train.",
                "percentunit",
                Query(f"avg(hw_gpu_utilization{work})", "a kernel runs"),
                Query(f"avg(hw_gpu_tensor_activity{work})", "matrix units busy"),
                steps=below(0.7, 0.3),
            ),
            8,
            8,
        ),
    ]
