"""A bound on bytes that one sender cannot use up: there is always room for one more."""


class ByteBudget:
    """Bytes that all senders share, none of whom holds more than what is left for the others.

    One alone has half of them, two a third each. Used by one thread at a time.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._used = 0
        self._by_sender: dict[bytes, int] = {}

    @property
    def used(self) -> int:
        """Return the bytes taken and not yet given back."""
        return self._used

    def take(self, sender: bytes, size: int) -> bool:
        """Take so many bytes; False where that would be more than the sender's share.

        Who finds nothing taken gets any number: it would never fit else.
        """
        held = self._by_sender.get(sender, 0) + size
        if self._used and held > self._limit - self._used - size:
            return False
        self._used += size
        self._by_sender[sender] = held
        return True

    def give_back(self, sender: bytes, size: int) -> None:
        """Give bytes back."""
        self._used -= size
        left = self._by_sender.get(sender, 0) - size
        if left:
            self._by_sender[sender] = left
        else:
            self._by_sender.pop(sender, None)
