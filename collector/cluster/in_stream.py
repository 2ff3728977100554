"""What a log in a stream leaves to JetStream: retention, receive times, durability."""


class InStream:
    """Base of logs that are only written here, or only read once: nobody asks them for the rest."""

    def last_at_ns(self) -> int | None:
        """Return None: receive times are those of JetStream."""
        return None

    def check(self, *, failed: bool) -> str:
        """Return "": whether JetStream answers is for its connection to say."""
        del failed
        return ""

    def trim(self, now: float) -> int:
        """Return 0: the stream has its own retention."""
        del now
        return 0

    def close(self) -> None:
        """Do nothing: what is acknowledged is kept."""
