"""Forwarding: lines that the agent follows go on to an OTLP logs receiver, as they were written.

In: lines of followed files. Out: OTLP log records, in a spool of their own. Imports: formats,
vocabulary; health, outgoing, push, training_logs.
"""

from .forwarder import LineForwarder
from .sending import ForwardSender
from .waiting import ForwardQueue

__all__ = ["ForwardQueue", "ForwardSender", "LineForwarder"]
