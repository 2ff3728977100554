"""Settings of the intake: bounds on what senders can make the collector hold."""

from pydantic import Field

from ...settings import SettingsSection

LIMIT_BYTES = 64 << 20
"""Largest body after decompression by default, as the OTLP specification recommends."""


class IntakeSettings(SettingsSection):
    """How much is taken at once, and where else."""

    grpc_listen: str = Field(
        default="",
        pattern=r"^$|^.+:[0-9]{1,5}$",
        description="HOST:PORT of OTLP over gRPC beside OTLP over HTTP, such as 0.0.0.0:4317; "
        "empty: not taken. Experimental. Needs grpcio: pip install 'rankscope[collector,grpc]'",
    )

    grpc_limit_bytes: int = Field(
        default=4 << 20,
        ge=1024,
        description="Largest message over gRPC, decompressed; receivers of OTLP have 4 MiB usually",
    )
    body_limit_bytes: int = Field(
        default=LIMIT_BYTES, ge=1024, description="Largest request body after decompression"
    )
    alerts_limit_bytes: int = Field(
        default=4 << 20, ge=1024, description="Largest body of an Alertmanager's webhook"
    )
    buffer_bytes: int = Field(
        default=256 << 20,
        ge=1024,
        description="Bytes of bodies being read at once, all senders; a token never has more of "
        "them than it leaves to the others, so at most half",
    )
    queue_bytes: int = Field(
        default=256 << 20,
        ge=1024,
        description="Bytes of payloads waiting for the journal, all senders, shared likewise",
    )
    tail_bytes: int = Field(
        default=256 << 20,
        ge=1024,
        description="Memory of payloads that wait for evaluation; what does not fit is read back "
        "from the journal",
    )
    max_jobs_of_sender: int = Field(
        default=5000,
        ge=1,
        description="Jobs that one sender (all tokens for the same jobs) may name, each counted "
        "for 12 to 24 hours; a payload that names more is refused as a whole, with OTLP's partial "
        "success",
    )
    max_hosts_of_sender: int = Field(
        default=100_000, ge=1, description="Hosts that one sender may name, likewise"
    )
