"""docs/reference/log-signatures.md: the lines of logs that are told, by the name they get."""

from collections.abc import Iterable

from rankscope.formats.kernel_log import signatures as kernel
from rankscope.formats.training_logs import signatures as training

from .tables import NOTE, code, table


def page() -> str:
    """Return docs/reference/log-signatures.md."""
    return (
        NOTE
        + "# Log signatures\n\n"
        + "Lines of logs that the agent tells as the event `log.fault`, by its attribute\n"
        + "`signature`. Role: root = may be the cause, cascade = follows from one, confirmation =\n"
        + "goes with one. Whoever sends such events without the agent uses these names; how to\n"
        + "add one: [kernel log](../examples/kernel_log_signature.toml).\n\n"
        + "## Kernel\n\nBeside XIDs, SXIDs and processes killed for memory, which are events of\n"
        + "their own.\n\n"
        + _rows((one.name, one.role, one.meaning) for one in kernel.catalogue())
        + "\n## Jobs\n\nOutput of ranks, launchers and schedulers.\n\n"
        + _rows((one.name, one.role, one.meaning) for one in training.catalogue())
    )


def _rows(found: Iterable[tuple[str, str, str]]) -> str:
    """Return a table with one row a name and role; several lines of one name share it."""
    meanings: dict[tuple[str, str], dict[str, None]] = {}
    for name, role, meaning in found:
        meanings.setdefault((name, role), {})[meaning] = None
    return table(
        ("signature", "role", "meaning"),
        ((code(name), role, "; ".join(texts)) for (name, role), texts in sorted(meanings.items())),
    )
