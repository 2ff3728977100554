"""What a machine cannot do, and why."""


class UnsupportedError(Exception):
    """A fault cannot be injected on this machine; the text says what is missing."""
