"""What lines of a job's own logs say of network ports: down or up, on the host that wrote them.

A live collector reads the ports themselves; of a dead job NCCL's words about its card are left.
"""

from dataclasses import dataclass, field, replace

from ....formats.training_logs.signatures import links
from ....vocabulary.samples import Event, Scalar
from ..job.startup import process_of

UNNAMED = "unnamed-port"
"""Stands for the ports of a host in lines that name none: older NCCL."""


@dataclass(slots=True)
class PortLines:
    """Follows the ports that a job's processes name.

    All processes that use a port say the same of it: what is no change says nothing. down: by host
    and port that was ever down the processes for whom it is; 0 stands for all where lines name it.
    """

    down: dict[tuple[str, str], set[int]] = field(default_factory=dict[tuple[str, str], set[int]])

    def read(self, event: Event) -> Event | None:
        """Return what a line says of a port; None where it says nothing new, or not on which host.

        Of ports without a name one is down until every process that lost one has it again.
        """
        state = links().get(str(event.attributes.get("signature", "")))
        text = str(event.attributes.get("text", ""))
        process = process_of(text.encode()) if state else None
        if state is None or process is None:
            return None
        host, pid = process
        named = str(event.attributes.get("device", UNNAMED))
        held = self.down.setdefault((host, named), set())
        was_down = bool(held)
        (held.add if state == "down" else held.discard)(pid if named == UNNAMED else 0)
        if was_down == bool(held):
            return None
        device, _, port = named.partition(":")
        pairs: dict[str, Scalar] = {
            "device": device,
            "port": port or "1",
            "state": state,
            "reason": "carrier",
            "text": text,
        }
        return Event("network.link", event.at, pairs, replace(event.resource, host=host))
