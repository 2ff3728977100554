"""What the parts of the store share: the database, and how deliveries are named and claimed."""

from .database import IncidentDatabase


class StorePart:
    """Some of what is asked of the store, a transaction each.

    `console` is the address of the console as receivers reach it, empty where none is configured;
    `owner` names this collector among those that share the database.
    """

    def __init__(self, database: IncidentDatabase, *, console: str = "", owner: str = "") -> None:
        self._database = database
        self._console = console
        self._owner = owner
