"""Which nodes are marked, by the incidents' first causes. Pure."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...alerts.notify import routing
from ...alerts.ports import NotifiedEndpoint
from ...vocabulary import times
from ..settings.kubernetes import KubernetesSettings

CONDITION = "RankscopeDegraded"
CLEARED = "NoKnownCause"
_LONGEST = 1024
"""Characters of a message; the API server takes more of a condition and no more of an event."""


@dataclass(frozen=True, slots=True)
class ConditionMark:
    """What a node's condition is to be. `at` is when it became so, seconds since the epoch."""

    node: str
    degraded: bool
    reason: str
    message: str
    at: float
    incident: str

    def condition(self, now: float) -> dict[str, Any]:
        """Return the patch of the node's status: this condition alone, whatever others it has."""
        return {
            "status": {
                "conditions": [
                    {
                        "type": CONDITION,
                        "status": "True" if self.degraded else "False",
                        "reason": self.reason,
                        "message": self.message,
                        "lastHeartbeatTime": _seconds(now),
                        "lastTransitionTime": _seconds(self.at),
                    }
                ]
            }
        }

    def event(self) -> dict[str, Any]:
        """Return the event; its name is the same in every repetition, so that it exists once."""
        text = f"{self.node}\0{self.incident}\0{self.degraded}\0{round(self.at * 1000)}"
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        return {
            "apiVersion": "v1",
            "kind": "Event",
            # Events about what has no namespace are in "default".
            "metadata": {"name": f"{self.node}.{digest}", "namespace": "default"},
            # As the kubelet does: `kubectl describe node` looks for the name in the uid.
            "involvedObject": {
                "apiVersion": "v1",
                "kind": "Node",
                "name": self.node,
                "uid": self.node,
            },
            "reason": CONDITION if self.degraded else f"{CONDITION}Cleared",
            "message": self.message,
            "type": "Warning" if self.degraded else "Normal",
            "source": {"component": "rankscope"},
            "reportingComponent": "rankscope",
            "reportingInstance": "collector",
            "firstTimestamp": _seconds(self.at),
            "lastTimestamp": _seconds(self.at),
            "count": 1,
        }


class NodeMarks:
    """Takes incident documents; gives the marks that changed."""

    def __init__(self, settings: KubernetesSettings) -> None:
        self._wanted = NotifiedEndpoint(
            id="kubernetes",
            url="",
            secret="",
            format="",
            faults=settings.faults,
            min_probability=settings.min_probability,
            min_confidence=settings.min_confidence,
        )
        self._causes: dict[str, dict[str, ConditionMark]] = {}
        """Incidents that mark a node, by node and incident."""

    def take(self, document: Mapping[str, Any]) -> list[ConditionMark]:
        """Take an incident as it is now; return what is to be written."""
        changed: list[ConditionMark] = []
        identity, node = str(document["id"]), self._node(document)
        at = times.parse(document["updated_at"])
        for name in [name for name, held in self._causes.items() if identity in held]:
            if name != node:
                del self._causes[name][identity]
                if self._causes[name]:
                    changed.append(_newest(self._causes[name].values()))
                else:
                    del self._causes[name]
                    changed.append(_cleared(name, document, at))
        if node is not None:
            before = self._causes.get(node, {}).get(identity)
            mark = _mark(node, document, at if before is None else before.at)
            if mark != before:
                self._causes.setdefault(node, {})[identity] = mark
                changed.append(mark)
        return changed

    def restored(
        self, going_on: Sequence[Mapping[str, Any]], over: Sequence[Mapping[str, Any]]
    ) -> list[ConditionMark]:
        """Take what a store has after a start; return all that is to be written again.

        Nodes of incidents that ended while no collector ran are cleared.
        """
        changed: dict[str, ConditionMark] = {}
        for document in over:
            node = self._node({**document, "status": "open"})
            if node is not None:
                at = times.parse(document["resolved_at"] or document["updated_at"])
                changed[node] = _cleared(node, document, at)
        for document in going_on:
            for mark in self.take(document):
                changed[mark.node] = mark
        return list(changed.values())

    def _node(self, document: Mapping[str, Any]) -> str | None:
        """Return the node that an incident marks: its agent reports the node's name as host."""
        if not routing.caused(self._wanted, document):
            return None
        host: str | None = document["root_cause"]["hypotheses"][0]["entity"]["host"]
        return host


def _newest(marks: Any) -> ConditionMark:
    newest: ConditionMark = max(marks, key=lambda mark: (mark.at, mark.incident))
    return newest


def _mark(node: str, document: Mapping[str, Any], at: float) -> ConditionMark:
    fault = document["root_cause"]["hypotheses"][0]["fault"]
    words = fault.replace(".", "_").split("_")
    message = f"{fault}, incident {document['id']}: {document['summary']}"
    reason = "".join(word[:1].upper() + word[1:] for word in words)
    return ConditionMark(node, True, reason, message[:_LONGEST], at, document["id"])


def _cleared(node: str, document: Mapping[str, Any], at: float) -> ConditionMark:
    message = f"incident {document['id']} no longer names this node"
    if document["status"] == "resolved":
        message = f"incident {document['id']} is resolved"
    return ConditionMark(node, False, CLEARED, message, at, document["id"])


def _seconds(at: float) -> str:
    """Return a time as Kubernetes' metav1.Time takes it: whole seconds."""
    return times.rfc3339(float(int(at))).replace(".000Z", "Z")
