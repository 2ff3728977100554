"""What a machine cannot do, and why."""


class InjectionUnsupportedError(Exception):
    """A fault cannot be injected on this machine; the text says what is missing."""
