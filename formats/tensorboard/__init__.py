"""TensorBoard event files: their records, their scalars, and which metrics these are.

Read with `formats.wire`, not with the package tensorboard: that unpacks to 32 MB, brings grpcio,
a web server and protobuf into the agent, and reads whole files, while an event of a scalar is a
message of three fields.

In: bytes of event files. Out: samples of training. Imports: vocabulary; training_logs, wire.
"""

from .parser import EventParser
from .records import MARK, is_events

__all__ = ["MARK", "EventParser", "is_events"]
