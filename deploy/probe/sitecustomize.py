"""Brings the probe to a Python that does not have it: this folder on PYTHONPATH, RANKSCOPE_PROBE=1.

Python imports `sitecustomize` at its start. This one has the folder's .pth file read, as it would
be in site-packages, and then runs the image's own sitecustomize, which it hides. It never raises.
"""

import importlib.machinery
import importlib.util
import os
import site
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _run_hidden() -> None:
    """Run the next sitecustomize on the path, if there is one."""
    others = [path for path in sys.path if os.path.abspath(path or ".") != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


try:
    if sys.version_info >= (3, 11):  # older ones cannot run the probe
        site.addsitedir(_HERE)
except Exception as error:  # noqa: BLE001  the edge of somebody's interpreter
    print(f"rankscope: probe disabled: {error}", file=sys.stderr)
_run_hidden()
