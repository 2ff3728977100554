"""Reading settings: one YAML file a process, the environment above it, errors that name the fix.

The settings classes themselves live beside their users; each is a `Section`.

In: a YAML file and the environment. Out: an object of the asker's class, or every mistake with its
fix. Imports: none.
"""

from .errors import Problem, SettingsError
from .loading import load
from .sections import Key, Section, keys

__all__ = ["Key", "Problem", "Section", "SettingsError", "keys", "load"]
