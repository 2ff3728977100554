"""What can go wrong with the store, as one tree.

StoreError
├── UnusableError       the database cannot be opened or brought up to date
├── UnknownIdError      there is no such incident, silence, window or webhook
└── RefusedError        the request contradicts what is kept
"""


class StoreError(Exception):
    """Anything the store refuses."""


class UnusableError(StoreError):
    """The database cannot be opened, or was written by a newer version."""


class UnknownIdError(StoreError):
    """Nothing is kept under this id."""


class RefusedError(StoreError):
    """The request contradicts what is kept; the text says how."""
