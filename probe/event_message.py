"""An event on its way to the agent."""

from ..vocabulary.samples import Event, Sample, Scalar


class EventMessage:
    """One event; the rank is added when it is sent, since the process group may provide it late."""

    __slots__ = ("at", "event")

    def __init__(self, name: str, at: float, attributes: dict[str, Scalar]) -> None:
        self.event = Event(name, at, attributes)
        self.at = at

    def descriptor(self) -> int | None:
        """Return None."""
        return None

    def ready(self, now: float) -> bool:  # noqa: ARG002  an event is complete when it happens
        return True

    def parts(self, rank: int) -> tuple[list[Sample], list[Event]]:
        return [], [Event(self.event.name, self.at, {"rank": rank, **self.event.attributes})]
