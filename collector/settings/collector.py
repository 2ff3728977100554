"""The collector's settings: one YAML file or the environment, every default usable."""

from pathlib import Path

from pydantic import Field, field_validator

from ...settings import SettingsSection
from .api import ApiSettings
from .detectors import DetectorSettings
from .evaluation import EvaluationSettings
from .intake import IntakeSettings
from .journal import JournalSettings
from .kubernetes import KubernetesSettings
from .log import LogSettings
from .long_term import LongTermSettings
from .past import PastSettings
from .profiles import ProfilesSettings
from .prometheus import PrometheusSettings
from .store import StoreSettings, WebhookSettings, check_url


class HttpSettings(SettingsSection):
    """Where the collector listens."""

    listen: str = Field(
        default="127.0.0.1:8470",
        description="HOST:PORT of everything over HTTP; port 0 takes any free one",
    )

    external_url: str = Field(
        default="",
        description="Address at which people reach the console; notifications link there",
    )

    @field_validator("external_url")
    @classmethod
    def _address(cls, url: str) -> str:
        if url:
            check_url(url)
        return url

    @field_validator("listen")
    @classmethod
    def _has_host_and_port(cls, text: str) -> str:
        host, colon, port = text.rpartition(":")
        if not colon or not host or not port.isdecimal() or int(port) > 65535:
            raise ValueError("write HOST:PORT, such as 127.0.0.1:8470 or [::1]:8470")
        return text

    @property
    def host(self) -> str:
        """Return the address without the brackets of IPv6."""
        return self.listen.rpartition(":")[0].strip("[]")

    @property
    def port(self) -> int:
        """Return the port, 0 for any free one."""
        return int(self.listen.rpartition(":")[2])


class UserSettings(SettingsSection):
    """The user label of jobs whose telemetry carries none."""

    jobs: str = Field(description="Pattern of job ids (* ? [..])")
    user: str = Field(min_length=1, max_length=200, description="A person or a team")


class CollectorSettings(SettingsSection):
    """Everything that `rankscope collector` and `rankscope replay` can be set to."""

    data_dir: Path = Field(
        default=Path("rankscope-data"), description="Folder of the journal and the incident store"
    )
    http: HttpSettings = HttpSettings()
    api: ApiSettings = ApiSettings()
    intake: IntakeSettings = IntakeSettings()
    journal: JournalSettings = JournalSettings()
    log: LogSettings = LogSettings()
    evaluation: EvaluationSettings = EvaluationSettings()
    past: PastSettings = PastSettings()
    profiles: ProfilesSettings = ProfilesSettings()
    store: StoreSettings = StoreSettings()
    detectors: DetectorSettings = DetectorSettings()
    users: tuple[UserSettings, ...] = Field(
        default=(),
        description="User labels by job, where telemetry carries none; the first that fits",
    )
    webhooks: tuple[WebhookSettings, ...] = Field(
        default=(), description="Endpoints that are notified about incidents"
    )

    kubernetes: KubernetesSettings = KubernetesSettings()
    prometheus: tuple[PrometheusSettings, ...] = Field(
        default=(), description="Prometheus-compatible stores that are polled"
    )

    long_term: LongTermSettings = LongTermSettings()

    @property
    def protected(self) -> bool:
        """Tell whether a token stands between the network and the collector."""
        return bool(self.api.tokens)

    @property
    def journal_folder(self) -> Path:
        """Return the folder of the journal's segments."""
        return self.data_dir / "journal"

    @property
    def profiles_folder(self) -> Path:
        """Return the folder of profiles and their traces."""
        return self.data_dir / "profiles"

    @property
    def snapshot_file(self) -> Path:
        """Return the file of evaluation's state, from which a restart goes on."""
        return self.data_dir / "snapshot"

    @property
    def store_url(self) -> str:
        """Return the SQLAlchemy URL of the incident store."""
        return self.store.url or f"sqlite:///{self.data_dir / 'rankscope.db'}"
