"""Where the time of a step goes, and who waits for whom."""

from ..group_waits import group_waits
from ..panels import PLAIN, AnyPanel, above, lines
from ..queries import JOB, PanelQuery, chosen
from .selection import INCIDENTS, OF_RANK, RANK

_WAITS = f"rankscope_group_wait_seconds{{{INCIDENTS}}}"


def time_row() -> list[AnyPanel]:
    """Return the panels of the row "Where the time goes, and who waits for whom"."""

    def phase(name: str, absent: str = "") -> str:
        return f"avg(training_{name}_duration_seconds{{{JOB}}}){absent}"

    return [
        lines(
            "Where the time goes",
            "Phases of a step, mean over ranks. Checkpoint and collector show in the steps "
            "that had any.",
            "s",
            PanelQuery(phase("compute"), "forward and backward"),
            PanelQuery(phase("comm"), "waiting in collectives"),
            PanelQuery(phase("data"), "waiting for data"),
            PanelQuery(phase("optimizer"), "optimizer"),
            PanelQuery(phase("checkpoint", " or vector(0)"), "checkpoint"),
            PanelQuery(phase("gc", " or vector(0)"), "garbage collector"),
            steps=PLAIN,
            stacked=True,
            size=(9, 9),
        ),
        group_waits(
            "Groups of ranks, the member that comes last to its collectives, and how long all "
            "others of the group wait for it a step, summed. The worst 20.",
            INCIDENTS,
            size=(8, 9),
        ),
        lines(
            "Waited for, by rank",
            "The same over time: how long groups wait for their last rank, a step. Top 10.",
            "s",
            PanelQuery(
                chosen(
                    f"sum by ({OF_RANK}) ({_WAITS})",
                    OF_RANK,
                    f"sum by ({OF_RANK}) (avg_over_time({_WAITS}[$__range] @ end()))",
                    10,
                ),
                RANK,
            ),
            steps=above(0.5, 2),
            size=(7, 9),
        ),
        lines(
            "Without its slowest nodes",
            "GPUs whose time the job would give back without its slowest one, two and five "
            "nodes, by what each rank does in a step.",
            "suffix: GPUs",
            PanelQuery(
                f"rankscope_job_gpus_gained{{{INCIDENTS}}}", "without the slowest {{removed}}"
            ),
            steps=above(1, 8),
            none="nobody reports what ranks do in a step",
            size=(24, 7),
        ),
    ]
