"""Who asks, for what is written down about a request: set once its token is known.

A context variable rather than an argument: the audit trail must not depend on each route passing
it on.
"""

from contextvars import ContextVar

token_name: ContextVar[str] = ContextVar("token_name", default="")
"""Name of the request's token; empty without one, and where the settings give it no name."""
