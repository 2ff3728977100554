"""Kinds that Kubernetes itself has not: the fields of theirs that deploy/ uses, and no others.

After the definitions of the Prometheus operator (monitoring.coreos.com/v1) and OpenShift
(security.openshift.io/v1, route.openshift.io/v1). An unknown field is an error.
"""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict


class Part(BaseModel):
    """A part of a document: nothing unknown in it."""

    model_config = ConfigDict(extra="forbid")


class Metadata(Part):
    """What names it."""

    name: str
    namespace: str | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class Selector(Part):
    """Labels that objects must have."""

    matchLabels: dict[str, str]


class Relabeling(Part):
    """A rule of relabelling."""

    sourceLabels: list[str]
    targetLabel: str


class Endpoint(Part):
    """A port of pods, scraped."""

    port: str
    interval: str
    honorLabels: bool = False
    relabelings: list[Relabeling] = []


class PodMonitorSpec(Part):
    """Which pods, and which of their ports."""

    selector: Selector
    podMetricsEndpoints: list[Endpoint]


class PodMonitor(Part):
    """monitoring.coreos.com/v1."""

    apiVersion: Literal["monitoring.coreos.com/v1"]
    kind: Literal["PodMonitor"]
    metadata: Metadata
    spec: PodMonitorSpec


class Rule(Part):
    """An alert or a recorded series."""

    expr: str
    alert: str | None = None
    record: str | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    keep_firing_for: str | None = None
    # `for` is a word of Python's.
    model_config = ConfigDict(extra="allow")


class Group(Part):
    """Rules that are evaluated together."""

    name: str
    rules: list[Rule]
    interval: str | None = None


class Groups(Part):
    """All groups."""

    groups: list[Group]


class PrometheusRule(Part):
    """monitoring.coreos.com/v1."""

    apiVersion: Literal["monitoring.coreos.com/v1"]
    kind: Literal["PrometheusRule"]
    metadata: Metadata
    spec: Groups


class Strategy(Part):
    """How a value of a pod is chosen."""

    type: Literal["RunAsAny", "MustRunAs", "MustRunAsRange", "MustRunAsNonRoot"]


class SecurityContextConstraints(Part):
    """security.openshift.io/v1: fields at the top, no spec. The first seven have no default."""

    apiVersion: Literal["security.openshift.io/v1"]
    kind: Literal["SecurityContextConstraints"]
    metadata: Metadata
    allowHostDirVolumePlugin: bool
    allowHostIPC: bool
    allowHostNetwork: bool
    allowHostPID: bool
    allowHostPorts: bool
    allowPrivilegedContainer: bool
    readOnlyRootFilesystem: bool
    allowPrivilegeEscalation: bool
    allowedCapabilities: list[str] | None
    defaultAddCapabilities: list[str] | None
    requiredDropCapabilities: list[str] | None
    runAsUser: Strategy
    seLinuxContext: Strategy
    fsGroup: Strategy
    supplementalGroups: Strategy
    seccompProfiles: list[str]
    volumes: list[str]
    users: list[str]
    groups: list[str]


class Target(Part):
    """Where a route leads."""

    kind: Literal["Service"]
    name: str
    weight: int = 100


class RoutePort(Part):
    """Its port."""

    targetPort: str | int


class Tls(Part):
    """Where TLS ends."""

    termination: Literal["edge", "passthrough", "reencrypt"]
    insecureEdgeTerminationPolicy: Literal["Allow", "Disable", "Redirect", "None"] | None = None


class RouteSpec(Part):
    """A service, reachable from outside."""

    to: Target
    port: RoutePort | None = None
    tls: Tls | None = None
    host: str | None = None


class Route(Part):
    """route.openshift.io/v1."""

    apiVersion: Literal["route.openshift.io/v1"]
    kind: Literal["Route"]
    metadata: Metadata
    spec: RouteSpec


KINDS: dict[str, type[Part]] = {
    "PodMonitor": PodMonitor,
    "PrometheusRule": PrometheusRule,
    "SecurityContextConstraints": SecurityContextConstraints,
    "Route": Route,
}


def validate(document: dict[str, Any]) -> bool:
    """Check a document of one of these kinds; False for any other."""
    if document["kind"] not in KINDS:
        return False
    KINDS[document["kind"]].model_validate(document)
    return True
