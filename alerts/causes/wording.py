"""Texts and commands of the catalogue with their blanks filled in for one entity."""

import re
import shlex
from collections.abc import Callable, Mapping

from ...vocabulary.entities import Entity
from ...vocabulary.topology import JobTopology
from .catalogue import CauseAdvice

_ONE_DEVICE = " -i {id}"
_BLANK = re.compile(r"\{(job|host|rank|pid|id)\}")


def text(advice: CauseAdvice, entity: Entity, topology: JobTopology) -> str:
    """Return what an advice says about an entity; a host or rank that nobody knows has no name."""
    rank = entity.ranks[0] if entity.ranks else None
    named = "{rank}" in advice.text or "{id}" in advice.text
    host = "its host" if named else "the host" if rank is None else f"the host of rank {rank}"
    blank = advice.text if rank is not None else advice.text.replace("rank {rank}", "the rank")
    return _filled(blank, entity, topology, quote=str, unknown={"host": host})


def command(advice: CauseAdvice, entity: Entity, topology: JobTopology) -> str:
    """Return the command of an advice, names quoted for the shell it is pasted in.

    Of a whole host a command is about every device: nothing selects one.
    """
    blank = advice.command.replace(_ONE_DEVICE, "") if entity.type == "host" else advice.command
    return _filled(blank, entity, topology, quote=_quoted, unknown={})


def _quoted(name: str) -> str:
    """Return a name for a shell; nothing where a program would take the name for an option."""
    return shlex.quote(name) if name and not name.startswith("-") else ""


def _filled(
    blank: str,
    entity: Entity,
    topology: JobTopology,
    *,
    quote: Callable[[str], str],
    unknown: Mapping[str, str],
) -> str:
    """Fill in {job} {host} {rank} {pid} {id}; what is unknown stays as its word in angle brackets.

    Names come from telemetry, so in commands they are quoted, and those that would be options
    (`ssh -oProxyCommand=...`) are left to the reader.
    """
    rank = entity.ranks[0] if entity.ranks else None

    def known(name: str) -> str:
        if name == "job":
            return quote(topology.job)
        if name == "host":
            return quote(topology.host_of_entity(entity) or "")
        if name == "id":
            return quote(entity.id)
        number = topology.pid(rank) if name == "pid" and rank is not None else rank
        return "" if number is None else str(number)

    return _BLANK.sub(
        lambda match: known(match[1]) or unknown.get(match[1], f"<{match[1]}>"), blank
    )
