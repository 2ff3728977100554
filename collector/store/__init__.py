"""Where incidents, what people did about them, and what is still to be sent are kept.

SQLite beside the journal by default, PostgreSQL by URL. `store.Store` is the door.
"""

from .store import Store

__all__ = ["Store"]
