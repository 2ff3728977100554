"""The agent's readers: a page each, and the list of them, from readers.toml and the vocabulary."""

from rankscope.agent.nvml import SUBJECTS
from rankscope.agent.readers.catalogue import ReaderEntry, entries
from rankscope.vocabulary import events, metrics

from .tables import NOTE, code, table


def index() -> str:
    """Return the list of all readers, by profile."""
    rows = [
        (f"[{entry.name}](readers/{entry.name}.md)", entry.what, entry.profile, entry.needs)
        for entry in entries().values()
    ]
    return (
        f"{NOTE}# Readers of the agent\n\n"
        "Each looks at one thing of the node; `readers.off` switches one off by its name, and "
        "`rankscope doctor` tries them all. The profile is the least one in which a reader works "
        "(see [deploying](../deploy.md)).\n\n" + table(("reader", "what", "profile", "needs"), rows)
    )


def profiles() -> str:
    """Return what each profile sees, by what readers need."""
    alike: dict[str, list[str]] = {}
    partly: list[tuple[str, ...]] = []
    for entry in entries().values():
        link = f"[{entry.name}](readers/{entry.name}.md)"
        if entry.restricted_blind:
            partly.append((link, entry.profile, entry.restricted_blind, entry.needs))
        else:
            alike.setdefault(entry.needs, []).append(link)
    whole = [(", ".join(names), needs) for needs, names in alike.items()]
    head = ("reader", "least profile", "the restricted one does not see", "needs")
    return (
        f"{NOTE}# What each profile sees\n\n"
        "Two profiles, each an overlay: "
        "[restricted](../../deploy/kubernetes/overlays/default/kustomization.yaml), the default, "
        "without a capability or a namespace of the node, and "
        "[full](../../deploy/kubernetes/overlays/full/kustomization.yaml). What each right is for, "
        "and how to give only some: [two profiles](../deploy.md#two-profiles). `rankscope doctor` "
        "tries every reader on a node and says what would mend it.\n\n"
        "## As much in either\n\n"
        + table(("readers", "need"), whole)
        + "\n## Less in the restricted profile, or nothing\n\n"
        + table(head, partly)
    )


def pages() -> dict[str, str]:
    """Return a page for each reader, by file name below docs/reference."""
    return {f"readers/{name}.md": _page(entry) for name, entry in entries().items()}


def _page(entry: ReaderEntry) -> str:
    parts = [f"{NOTE}# Reader {entry.name}\n\n{entry.what}.\n"]
    pace = SUBJECTS.get(entry.name)
    if pace:
        parts.append(f"Asked every {pace:g} s.\n")
    if entry.metrics:
        parts.append("## What\n\n" + table(("metric", "unit", "kind", "meaning"), _metrics(entry)))
    if entry.events:
        rows = [(code(name), events.catalogue()[name].help) for name in entry.events]
        parts.append("## Events\n\n" + table(("event", "meaning"), rows))
    parts.append(f"## Source\n\n{entry.source}\n")
    parts.append(
        f"## Privilege\n\nProfile: {entry.profile}. Needs: {entry.needs}.\n"
        + (
            f"\nThe restricted profile does not see: {entry.restricted_blind}.\n"
            if entry.restricted_blind
            else ""
        )
    )
    parts.append(f"## Failure\n\n{entry.failure}.\n\nTo mend: {entry.fix}.\n")
    return "\n".join(parts)


def _metrics(entry: ReaderEntry) -> list[tuple[str, str, str, str]]:
    known = metrics.catalogue()
    return [(code(n), code(known[n].unit), known[n].kind, known[n].help) for n in entry.metrics]
