"""Overlays and components for Kubernetes as a site would render them."""

import json

from .clients import KUBERNETES, Clients, Documents

OVERLAYS = sorted(path.name for path in (KUBERNETES / "overlays").iterdir())


def rendered(clients: Clients, overlay: str) -> Documents:
    return clients.kustomize(KUBERNETES / "overlays" / overlay)


def with_components(clients: Clients, tmp_path, *names: str) -> Documents:
    """Render what a site would write itself: the base and some components."""
    # kustomize takes relative paths only.
    folder = tmp_path.joinpath("a", "b")
    folder.mkdir(parents=True)
    links = tmp_path / "kubernetes"
    links.symlink_to(KUBERNETES)
    text = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": ["../../kubernetes/base"],
        "components": [f"../../kubernetes/components/{name}" for name in names],
    }
    (folder / "kustomization.yaml").write_text(json.dumps(text))
    return clients.kustomize(folder)
