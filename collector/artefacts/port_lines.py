"""What lines of a job's own logs say of network ports: down or up, on the host that wrote them.

A live collector reads the ports themselves; of a dead job NCCL's words about its card are left.
"""

from dataclasses import replace

from ...formats.training_logs.signatures import links
from ...vocabulary.samples import Event, Scalar
from .startup import process_of

UNNAMED_PORT = "unnamed-port"
"""Stands for the port of a line that names none: older NCCL."""


def of_port(event: Event) -> Event | None:
    """Return what a line says of a port; None where it says nothing, or not on which host."""
    state = links().get(str(event.attributes.get("signature", "")))
    text = str(event.attributes.get("text", ""))
    if state is None:
        return None
    written_by = process_of([text.encode()])
    host = event.resource.host or (written_by[0] if written_by else "")
    if not host:
        return None
    device, _, port = str(event.attributes.get("device", UNNAMED_PORT)).partition(":")
    pairs: dict[str, Scalar] = {
        "device": device,
        "port": port or "1",
        "state": state,
        "reason": "carrier",
        "text": text,
    }
    return Event("network.link", event.at, pairs, replace(event.resource, host=host))
