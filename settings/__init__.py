"""Reading settings: one YAML file a process, the environment above it, errors that name the fix.

The settings classes themselves live beside their users; each is a `Section`.
"""

from .errors import Problem, SettingsError
from .loading import load
from .sections import Key, Section, keys

__all__ = ["Key", "Problem", "Section", "SettingsError", "keys", "load"]
