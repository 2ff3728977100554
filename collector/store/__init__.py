"""Incidents, what people did about them, and the notices that are still to be sent.

In flow changes of incidents, committed in order with their notices (`storing.py`), out documents,
pages and deliveries. SQLite beside the journal by default, PostgreSQL by URL; `store.Store` is the
door. It may import `journal` (for people's actions), `health` and `settings`.
"""

from .store import IncidentDatabaseStore

__all__ = ["IncidentDatabaseStore"]
