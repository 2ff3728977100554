"""docs/reference/remedies.md: which cause asks for which action."""

from rankscope.vocabulary import remedies

from .tables import NOTE, code, table


def page() -> str:
    """Return docs/reference/remedies.md."""
    text = NOTE + (
        "# Remedies\n\n"
        "What mends a cause, the smallest action first: the first that the job's executor can do\n"
        "is taken, if [actions](../actions.md) are on. A fault that is not here is never acted\n"
        "on. A job that goes on hardly slower than usual is left alone, but for what does harm at\n"
        "any speed.\n\n"
    )
    return text + table(
        ("fault", "actions", "least probability", "at any speed", "why"),
        (
            (
                code(row.fault),
                ", ".join(code(one) for one in row.actions),
                f"{row.min_probability:g}",
                "yes" if row.at_any_speed else "",
                row.why,
            )
            for row in remedies.catalogue().values()
        ),
    )
