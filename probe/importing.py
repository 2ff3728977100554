"""Callbacks for when the job imports a module, without importing it for the job."""

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Sequence
from types import ModuleType


def when_imported(name: str, call: Callable[[ModuleType], None]) -> Callable[[], None]:
    """Call with the module once it is imported, now if it is already; return how to forget it.

    `call` must not raise. A module that is being imported at this moment counts as not yet there.
    """
    module = sys.modules.get(name)
    if module is not None and not _initializing(module):
        call(module)
        return lambda: None
    finder = _ImportFinder(name, call)
    sys.meta_path.insert(0, finder)
    return finder.leave


def _initializing(module: ModuleType) -> bool:
    return bool(getattr(getattr(module, "__spec__", None), "_initializing", False))


class _ImportFinder(importlib.abc.MetaPathFinder):
    """Lets the other finders find the module, and stands behind its loader."""

    def __init__(self, name: str, call: Callable[[ModuleType], None]) -> None:
        self._name = name
        self._call = call

    def leave(self) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002  the protocol's
        target: ModuleType | None = None,  # noqa: ARG002  the protocol's
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the spec the others find, its loader followed by the call."""
        if fullname != self._name:
            return None
        self.leave()
        spec = importlib.util.find_spec(fullname)
        if spec is None or spec.loader is None:
            return spec
        loader, call = spec.loader, self._call
        run = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            run(module)
            call(module)

        # On this one loader object only, which the import system makes anew for every module.
        loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec
