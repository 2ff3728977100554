"""Job: how training goes, which rank is slow, where the time goes, who waits for whom."""

from grafana_foundation_sdk.models import dashboard as models

from . import links
from .frame import Given, Put, Section, assemble, query
from .panels import PLAIN, Column, above, below, heat, lines, listing, number
from .queries import (
    HOSTS,
    JOB,
    MOST_RANKS,
    MOST_SMALL,
    RANKS,
    Query,
    by_gpu,
    highest,
    most,
    now,
    rows,
)

_INCIDENTS = 'job_id="$job"'
_TO_NODE = links.to(links.NODE, "The node", host="${__data.fields.Node}")
_TO_INCIDENT = links.to(links.INCIDENT, "The incident", incident="${__data.fields.Incident}")
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
            query(
                "job",
                "Job",
                'label_values(rankscope_job_info{cluster=~"$cluster"}, job_id)',
                description="jobs that report to the collector",
            ),
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


def of_job(metric: str, **labels: str) -> str:
    """Return a device's metric with the rank that is placed on it, for the ranks of the job.

    By the device's id: an agent learns only after some seconds which rank is on it. Of several
    ranks on one device, one.
    """
    more = "".join(f', {name}="{value}"' for name, value in labels.items())
    device = by_gpu(f'{metric}{{cluster=~"$cluster", host_name=~"$host"{more}}}', "hw_id")
    return (
        f"{device}"
        " * on (host_name, hw_id) group_left (rank)"
        f" topk by (host_name, hw_id) (1, training_rank_info{{{RANKS}}})"
    )


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
                Column("host_name", "Node", width=120, link=_TO_NODE),
                Column("entity", "Entity"),
                Column("Value #B", "GPU h lost", "short", 95, steps=above(1, 24)),
                Column("incident", "Incident", width=190, link=_TO_INCIDENT),
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
                most(f"rankscope_detector_score{{{_INCIDENTS}}}", "detector, rank"),
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
    own = (
        f"max by ({_OF_RANK}) (training_step_duration_seconds{{{RANKS}}})"
        f" - max by ({_OF_RANK}) (training_comm_duration_seconds{{{RANKS}}})"
    )
    by_rank = f"The {MOST_RANKS} highest of the time range; choose nodes or ranks above for others."
    return [
        Put(
            heat(
                "Own time by rank",
                "Step time less the wait in collectives: what a rank itself needs. In a "
                f"synchronous job the rank that is hot here holds up all others. {by_rank}",
                "s",
                Query(most(own, "rank", MOST_RANKS, lasting=True), "{{rank}}"),
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
                    Column("host_name", "Node", width=130, link=_TO_NODE),
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
                    most(
                        f"sum by (host_name, rank) (rankscope_group_wait_seconds{{{_INCIDENTS}}})",
                        _OF_RANK,
                        10,
                        lasting=True,
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
                    most(
                        f"({of_job('hw_gpu_memory_usage_bytes')})"
                        " / on (host_name, gpu) group_left () "
                        + by_gpu(f"hw_gpu_memory_limit_bytes{{{HOSTS}}}"),
                        _OF_RANK,
                        MOST_SMALL,
                    ),
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
                    most(
                        f"sum by (host_name, rank, role) (process_memory_usage_bytes{{{RANKS}}})",
                        "host_name, rank, role",
                        MOST_SMALL,
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
    by = "host_name, gpu, rank"
    clocks = of_job("hw_frequency_hertz", domain="sm")
    return [
        Put(
            lines(
                "Lowest SM clocks",
                "Clock of the 12 devices that ran slowest in the time range; power capping lowers "
                "all, a fault lowers one.",
                "hertz",
                Query(
                    f"({clocks}) and on ({by}) bottomk({MOST_SMALL}, min by ({by})"
                    f" (min_over_time(({clocks})[$__range:$__interval] @ end())))",
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
                    most(of_job("hw_temperature_celsius", hw_sensor="gpu"), by, MOST_SMALL),
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
                Query(f"avg({of_job('hw_gpu_utilization')})", "a kernel runs"),
                Query(f"avg({of_job('hw_gpu_tensor_activity')})", "matrix units busy"),
                steps=below(0.7, 0.3),
            ),
            8,
            8,
        ),
    ]
