"""What the counters of communication groups say while a job stands still.

Who has not launched what its peers wait for, who has launched something else, who waits for whom
in a circle, and whether everybody is inside. These rules named eight of eight culprits of
real hangs.
"""

from collections.abc import Iterator

import numpy as np

from ...vocabulary.findings import Finding
from ..findings import report
from ..window import Flags, Floats, GroupProgress, Ints
from .stall_signs import DETECTOR, StalledWindow

OTHER_COLLECTIVE, CIRCLE, INSIDE = "rank.other_collective", "job.waits_in_circle", "job.inside"


def behind(stall: StalledWindow) -> list[Finding]:
    """Return ranks behind in a group's counters, as reported after the stall began.

    One that stands inside a collective of another group, for a rank that has not launched it, is
    behind because of that rank and left out, unless all are (a circle).
    """
    window = stall.window
    found: dict[int, Finding] = {}
    for group in window.groups:
        known = fresh(stall, group)
        if group.kind == "pp" or known.sum() < 2:
            continue
        for name, where, kind, valid in (
            ("completed", "on the device", "rank.behind_completed", group.completed),
            ("enqueued", "in the process", "rank.behind_enqueued", group.enqueued),
        ):
            rows, best = _lowest(valid, known, group)
            for member in rows:
                row = int(group.rows[member])
                if row in found:
                    continue
                text = (
                    f"rank {int(window.ranks[row])} has {name} {valid[member]:.0f} "
                    f"collectives of group {group.name}, its peers {best:.0f}: it stopped {where}"
                    f"{_lost(group)}"
                )
                signal, seen = f"collective.{name}", float(valid[member])
                found[row] = stall.sign(row, kind, signal, seen, best, 3.0, text)
            if rows:
                break
    waiting = _waits(stall) if len(found) > 1 else {}
    first = [sign for row, sign in found.items() if not waiting.get(row, set()) & found.keys()]
    return first or list(found.values())


def _lost(group: GroupProgress) -> str:
    """Return what cannot be known of a group, "" where all of it is reported."""
    found: list[str] = []
    if not np.isfinite(group.completed).any():
        found.append("completions are not reported, so a device that stopped would not show")
    if len(group.absent):
        found.append(f"{len(group.absent)} other members report nothing")
    return f" ({'; '.join(found)})" if found else ""


def unlike(stall: StalledWindow) -> list[Finding]:
    """Return ranks that launched another kind of collective where their peers agree.

    Counts of one moment: members that have launched equally many in all, but not of each kind, did
    not launch the same. The minority is blamed; of two halves nobody is.
    """
    window = stall.window
    found: dict[int, Finding] = {}
    for group in window.groups:
        members = np.flatnonzero(fresh(stall, group))
        if group.kind == "pp" or len(group.launches) < 2 or len(members) < 3:
            continue
        names = sorted(group.launches)
        counts = np.nan_to_num(np.stack([group.launches[name][members] for name in names], axis=1))
        if np.ptp(counts.sum(axis=1)) != 0:
            continue  # behind, or counted at different moments
        usual = np.median(counts, axis=0)
        odd = np.flatnonzero((counts != usual).any(axis=1))
        if not 0 < len(odd) < len(members) / 2:
            continue
        for place in odd.tolist():
            row = int(group.rows[members[place]])
            extra = names[int(np.argmax(counts[place] - usual))]
            lacking = names[int(np.argmax(usual - counts[place]))]
            text = (
                f"rank {int(window.ranks[row])} launched {extra} in group {group.name} where its "
                f"peers launched {lacking}"
            )
            found[row] = stall.sign(
                row, OTHER_COLLECTIVE, "collective.launches", extra, lacking, 3.0, text
            )
    return list(found.values())


def circle(stall: StalledWindow) -> list[Finding]:
    """Return that ranks wait for each other in a circle, over two groups or more.

    A rank waits in its oldest collective that is not complete for the members that have not
    launched that one. Where those wait in another group for the first, nobody will ever go on.
    """
    window = stall.window
    rows = _in_circle(_waits(stall))
    if not rows:
        return []
    ranks = sorted(int(window.ranks[row]) for row in rows)
    return [
        report(
            window,
            DETECTOR,
            CIRCLE,
            window.entity,
            onset=stall.last,
            magnitude=float(len(rows)),
            signal="collective.enqueued",
            observed=float(len(rows)),
            expected=0.0,
            text=f"ranks {', '.join(map(str, ranks[:8]))} wait for each other in different groups",
            ranks=ranks,
        )
    ]


def inside(stall: StalledWindow) -> list[Finding]:
    """Return that every member of a group is inside one collective, which does not complete."""
    group = next(waiting_groups(stall), None)
    if group is None:
        return []
    text = (
        f"all {len(group.rows)} members of group {group.name} launched collective "
        f"{group.enqueued[0]:.0f}, none has completed it"
    )
    return [
        report(
            stall.window,
            DETECTOR,
            INSIDE,
            stall.window.entity,
            onset=stall.last,
            signal="collective.completed",
            observed=float(group.completed[0]),
            expected=float(group.enqueued[0]),
            text=text,
        )
    ]


def absent(stall: StalledWindow) -> list[Finding]:
    """Return ranks that never reported how far they are, while all their peers wait in one group.

    They may wait there too: where anything else stands out, that is what the others wait for.
    """
    group = next(waiting_groups(stall), None)
    if group is None or not 0 < len(group.absent) < len(group.rows):
        return []
    return [
        stall.sign(
            row,
            "rank.probe_silent",
            "collective.enqueued",
            "nothing",
            float(group.enqueued[0]),
            1.5,
            f"rank {int(stall.window.ranks[row])} reports nothing of group {group.name}, whose "
            f"other members wait in collective {group.enqueued[0]:.0f}",
        )
        for row in group.absent.tolist()
    ]


def waiting_groups(stall: StalledWindow) -> Iterator[GroupProgress]:
    """Give the groups whose members have all launched one collective that has not completed."""
    for group in stall.window.groups:
        known = fresh(stall, group) & np.isfinite(group.enqueued) & np.isfinite(group.completed)
        if group.kind == "pp" or known.sum() < 2 or known.sum() < len(group.rows):
            continue
        if (group.enqueued > group.completed).all() and np.ptp(group.enqueued) == 0:
            yield group


def waits(group: GroupProgress) -> bool:
    """Tell whether a member waits in a collective.

    Where only launches are counted, members that launched more wait for those that did not.
    """
    if (group.enqueued > group.completed).any():
        return True
    launched = group.enqueued[np.isfinite(group.enqueued)]
    unequal = len(launched) > 1 and bool(np.ptp(launched) > 0)
    return unequal and not np.isfinite(group.completed).any()


def fresh(stall: StalledWindow, group: GroupProgress) -> Flags:
    """Return [members], whose counters were reported after the stall began."""
    reported: Flags = group.at > stall.last + min(stall.usual, 2.0)
    return reported


def _waits(stall: StalledWindow) -> dict[int, set[int]]:
    """Return by row the rows that have not launched the collective which it stands in.

    Counters are read now and then, each rank's at its own moment: one says that a member has not
    launched a collective only where it was read after somebody was seen in that collective. An
    evaluation goes on slowly, and what was read before is no more than older.
    """
    waits_for: dict[int, set[int]] = {}
    for group in stall.window.groups:
        known = fresh(stall, group)
        if group.kind == "pp" or known.sum() < 2:
            continue
        inside = known & (group.enqueued > group.completed)
        if not inside.any():
            continue
        for completed in np.unique(group.completed[inside]).tolist():
            within = inside & (group.completed == completed)
            since = float(group.changed_at[within].min())
            late = known & (group.enqueued <= completed) & (group.at >= since)
            absent = group.rows[late].tolist()
            for row in group.rows[within].tolist():
                waits_for.setdefault(row, set()).update(absent)
    return waits_for


def _in_circle(waits_for: dict[int, set[int]]) -> list[int]:
    """Return who can reach itself by who waits for whom; whoever nobody waits for goes first."""
    left = {row: set(others) for row, others in waits_for.items()}
    while True:
        free = [row for row, others in left.items() if not others & left.keys()]
        if not free:
            break
        for row in free:
            del left[row]
    awaited = {other for others in left.values() for other in others}
    while lost := [row for row in left if row not in awaited]:
        for row in lost:
            del left[row]
        awaited = {other for others in left.values() for other in others}
    return sorted(left)


def _lowest(valid: Floats, known: Flags, group: GroupProgress) -> tuple[list[int], float]:
    """Return the members that are behind, and where the others are; nobody if most are behind.

    Counters are reported now and then: a member is behind if it reported its lower number after the
    others had reported theirs. Launches run ahead of the device, on some hosts by more: a member
    that has launched the collective in which the leading ones stand holds nobody up.
    """
    members: Ints = np.flatnonzero(np.isfinite(valid) & known)
    if len(members) < 2:
        return [], 0.0
    best = float(valid[members].max())
    first = members[valid[members] == best]
    leading = group.changed_at[first]
    since = float(leading.min()) if np.isfinite(leading).any() else -np.inf
    stand = group.completed[first]
    most = float(np.max(stand, initial=-np.inf, where=np.isfinite(stand)))
    awaited = valid <= most if valid is group.enqueued and np.isfinite(most) else valid < best
    low = [int(m) for m in members if valid[m] < best and awaited[m] and group.at[m] >= since]
    return (low, best) if len(low) <= len(members) / 2 else ([], best)
