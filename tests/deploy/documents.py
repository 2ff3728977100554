"""What tests ask of rendered manifests: one, its pod, its variables, its folders of the node."""

import re
from collections.abc import Iterator
from typing import Any

from .clients import Documents

TOKENS = {"ingest": "i" * 24, "read": "r" * 24, "admin": "a" * 24}

Document = dict[str, Any]


def one(documents: Documents, kind: str, name: str) -> Document:
    """Return the document of a kind and name."""
    [found] = [d for d in documents if (d["kind"], d["metadata"]["name"]) == (kind, name)]
    return found


def agent(documents: Documents) -> Document:
    """Return the agent's DaemonSet."""
    return one(documents, "DaemonSet", "rankscope-agent")


def collector(documents: Documents) -> Document:
    """Return the collector's StatefulSet."""
    return one(documents, "StatefulSet", "rankscope-collector")


def pod(document: Document) -> Document:
    """Return the spec of its pods."""
    spec: Document = document["spec"]["template"]["spec"]
    return spec


def container(document: Document) -> Document:
    """Return its only container."""
    [found] = pod(document)["containers"]
    assert "initContainers" not in pod(document)
    only: Document = found
    return only


def environ(document: Document) -> dict[str, str]:
    """Return the variables as the kubelet would set them: secrets read, $(NAME) put in."""
    found: dict[str, str] = {}
    for row in container(document)["env"]:
        if "value" in row:
            value = re.sub(r"\$\((\w+)\)", lambda match: found[match[1]], row["value"])
        elif "secretKeyRef" in row["valueFrom"]:
            value = TOKENS[row["valueFrom"]["secretKeyRef"]["key"]]
        else:
            assert {"fieldPath": "spec.nodeName"} == row["valueFrom"]["fieldRef"]
            value = "node-17"
        found[row["name"]] = value
    return found


def host_folders(document: Document) -> dict[str, tuple[str, bool]]:
    """Return by path on the node where it is mounted, and whether it may be written."""
    paths = {
        volume["name"]: volume["hostPath"]["path"]
        for volume in pod(document)["volumes"]
        if "hostPath" in volume
    }
    return {
        paths[mount["name"]]: (mount["mountPath"], not mount.get("readOnly", False))
        for mount in container(document)["volumeMounts"]
        if mount["name"] in paths
    }


def texts(value: object) -> Iterator[str]:
    """Yield every key and value of a document as text."""
    if isinstance(value, dict):
        yield from (text for pair in value.items() for part in pair for text in texts(part))
    elif isinstance(value, list):
        yield from (text for part in value for text in texts(part))
    else:
        yield str(value)
