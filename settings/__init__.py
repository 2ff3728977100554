"""Reading settings: one YAML file a process, the environment above it, errors that name the fix.

The settings classes themselves live beside their users; each is a `SettingsSection`.

In: a YAML file and the environment. Out: an object of the asker's class, or every mistake with its
fix. Imports: none.
"""

from .errors import SettingsError, SettingsProblem
from .loading import load
from .sections import SettingsKey, SettingsSection, keys

__all__ = ["SettingsError", "SettingsKey", "SettingsProblem", "SettingsSection", "keys", "load"]
