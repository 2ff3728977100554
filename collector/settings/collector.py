"""The collector's settings: one YAML file or the environment, every default usable."""

from pathlib import Path

from pydantic import Field

from ...settings import SettingsSection
from .actions import ActionsSettings
from .api import ApiSettings
from .checks import ChecksSettings
from .detectors import DetectorSettings
from .evaluation import EvaluationSettings
from .http import HttpSettings
from .intake import IntakeSettings
from .journal import JournalSettings
from .kubernetes import KubernetesSettings
from .log import LogSettings
from .long_term import LongTermSettings
from .past import PastSettings
from .profiles import ProfilesSettings
from .prometheus import PrometheusSettings
from .store import StoreSettings, WebhookSettings


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
    checks: ChecksSettings = ChecksSettings()
    store: StoreSettings = StoreSettings()
    detectors: DetectorSettings = DetectorSettings()
    users: tuple[UserSettings, ...] = Field(
        default=(),
        description="User labels by job, where telemetry carries none; the first that fits",
    )
    webhooks: tuple[WebhookSettings, ...] = Field(
        default=(), description="Endpoints that are notified about incidents"
    )

    actions: ActionsSettings = ActionsSettings()
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
        return self.data_dir / "profiles"

    @property
    def snapshot_file(self) -> Path:
        """Return the file of evaluation's state, from which a restart goes on."""
        return self.data_dir / "snapshot"

    @property
    def store_url(self) -> str:
        """Return the SQLAlchemy URL of the incident store."""
        return self.store.url or f"sqlite:///{self.data_dir / 'rankscope.db'}"
