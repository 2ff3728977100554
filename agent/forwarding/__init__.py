"""Forwarding: lines that the agent follows go on to an OTLP logs receiver, as they were written."""

from .forwarder import Forwarder
from .sending import Sending
from .waiting import Waiting

__all__ = ["Forwarder", "Sending", "Waiting"]
