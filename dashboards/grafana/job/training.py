"""Loss, and which rank is slow."""

from ..panels import PLAIN, AnyPanel, above, heat, lines
from ..queries import (
    JOB,
    MOST_RANKS,
    RANKS,
    PanelQuery,
    highest,
)


def loss_row() -> list[AnyPanel]:
    """Return the panels of the row "Loss"."""

    def with_spikes(metric: str, what: str) -> tuple[PanelQuery, PanelQuery, PanelQuery]:
        highest_ = f"max(training_{metric}{{{JOB}}})"
        usual = f"quantile_over_time(0.5, {highest_}[10m:$__interval])"
        spread = f"quantile_over_time(0.9, {highest_}[10m:$__interval])"
        return (
            PanelQuery(f"quantile(0.5, training_{metric}{{{JOB}}})", f"{what}, median of ranks"),
            PanelQuery(highest_, f"{what}, highest rank"),
            PanelQuery(f"{highest_} > 1.3 * {usual} and {highest_} > 1.1 * {spread}", "spike"),
        )

    return [
        lines(
            "Loss",
            "Median and highest over ranks. Red: more than 1.3 times the median of the "
            "10 minutes before. A gap is a value that is not finite.",
            "short",
            *with_spikes("loss", "loss"),
            steps=PLAIN,
            least=None,
            points="spike",
            size=(8, 8),
        ),
        lines(
            "Gradient norm",
            "Median and highest over ranks, before and after clipping as reported. Red: a "
            "spike, as for the loss.",
            "short",
            *with_spikes("grad_norm", "norm"),
            steps=PLAIN,
            points="spike",
            size=(8, 8),
        ),
        lines(
            "Learning rate",
            "As the optimizer used it in the last step.",
            "sci",
            PanelQuery(f"max(training_learning_rate{{{JOB}}})", "learning rate"),
            steps=PLAIN,
            size=(4, 8),
        ),
        lines(
            "Non-finite values",
            "NaN and Inf that ranks met in a step: any is an incident.",
            "none",
            PanelQuery(f"sum by (of) (training_nonfinite{{{JOB}}})", "{{of}}"),
            steps=above(1, 1)[::2],
            marked=True,
            size=(4, 8),
        ),
    ]


def ranks_row() -> list[AnyPanel]:
    """Return the panels of the row "Which rank is slow"."""
    step = f"training_step_duration_seconds{{{RANKS}}}"
    both = "training_step_duration_seconds", "training_comm_duration_seconds"
    usual = " - ".join(
        f"max by (rank) (avg_over_time({one}{{{RANKS}}}[$__range] @ end()))" for one in both
    )
    slowest = f"topk({MOST_RANKS}, {usual})"
    own = " - ".join(f"max by (rank) ({one}{{{RANKS}}} and on (rank) {slowest})" for one in both)
    by_rank = f"The {MOST_RANKS} highest of the time range; choose nodes or ranks above for others."
    return [
        heat(
            "Own time by rank",
            "Step time less the wait in collectives: what a rank itself needs. In a "
            f"synchronous job the rank that is hot here holds up all others. {by_rank}",
            "s",
            PanelQuery(own, "{{rank}}"),
            steps=PLAIN,
            rows="rank",
            size=(12, 10),
        ),
        heat(
            "Step time by rank",
            "Wall time of the step. Equal colours in a column: all wait for one another. "
            f"{by_rank}",
            "s",
            PanelQuery(highest(step, "rank", MOST_RANKS), "{{rank}}"),
            steps=PLAIN,
            rows="rank",
            size=(12, 10),
        ),
    ]
