"""Incidents, what people did about them, and the notices that are still to be sent.

SQLite beside the journal by default, PostgreSQL by URL; `store.Store` is the door.

In: changes of incidents, committed in order with their notices (`storing.py`), and people's
actions. Out: documents, pages and deliveries. Imports: alerts, vocabulary; health, journal,
settings.
"""

from .store import IncidentDatabaseStore

__all__ = ["IncidentDatabaseStore"]
