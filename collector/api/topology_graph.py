"""A topology as nodes and edges: what /topology answers with.

Relations: a rank is `member-of` its job and groups, `runs-on` a host and `uses` a device; devices
and ports are `attached-to` their host; a host, or each of its ports, has its leaf switch as
`uplink`; a host `mounts` storage. Without ranks the job itself `runs-on` its hosts, and no devices
and ports are drawn: at a hundred thousand ranks that is 4 MB instead of 72 MB of JSON.
"""

from typing import Any

from ...vocabulary.entities import Entity
from ...vocabulary.ranks import RankSet
from ...vocabulary.topology import JobTopology


class _TopologyGraph:
    """Nodes by type and id, each once, and the edges between them."""

    def __init__(self) -> None:
        self.nodes: dict[tuple[str, str], dict[str, Any]] = {}
        self.edges: list[dict[str, Any]] = []

    def add(self, entity: Entity) -> dict[str, str]:
        """Add an entity; return how edges name it."""
        if (entity.type, entity.id) not in self.nodes:
            self.nodes[entity.type, entity.id] = entity.document()
        return {"type": entity.type, "id": entity.id}

    def join(self, start: dict[str, str], relation: str, end: dict[str, str]) -> None:
        self.edges.append({"from": start, "to": end, "relation": relation})


def drawn(topology: JobTopology, *, ranks: bool = True) -> dict[str, Any]:
    """Return {"nodes": [entity...], "edges": [{from, to, relation}]}, down to ranks or to hosts."""
    graph = _TopologyGraph()
    job = graph.add(topology.job_entity)
    hosts = {host: graph.add(topology.host_entity(host)) for host in topology.hosts}
    for host, switch in sorted(topology.switches.items()):
        if host in hosts:
            graph.join(hosts[host], "uplink", graph.add(topology.switch_entity(switch)))
    members = _ranks(graph, topology, job, hosts) if ranks else {}
    for named in () if ranks else hosts.values():
        graph.join(job, "runs-on", named)
    for group in topology.groups:
        node = graph.add(Entity("group", group.name, None, group.ranks))
        for rank in group.ranks if ranks else ():
            if rank in members:
                graph.join(members[rank], "member-of", node)
    for mount, places in sorted(topology.mounts.items()):
        mounting = [host for host in places if host in hosts]
        on_it = RankSet(rank for host in mounting for rank in topology.ranks_of_host(host))
        storage = graph.add(Entity("storage", mount, None, on_it))
        for host in mounting:
            graph.join(hosts[host], "mounts", storage)
    return {"nodes": list(graph.nodes.values()), "edges": graph.edges}


def _ranks(
    graph: _TopologyGraph,
    topology: JobTopology,
    job: dict[str, str],
    hosts: dict[str, dict[str, str]],
) -> dict[int, dict[str, str]]:
    """Add the ranks, devices and ports; return how edges name each rank."""
    ranks: dict[int, dict[str, str]] = {}
    for rank in sorted(topology.ranks):
        ranks[rank] = graph.add(topology.rank_entity(rank))
        graph.join(ranks[rank], "member-of", job)
        home = topology.host(rank)
        if home is not None:
            graph.join(ranks[rank], "runs-on", hosts[home])
        device = topology.gpu_entity(rank)
        if device is not None:
            gpu = graph.add(device)
            graph.join(ranks[rank], "uses", gpu)
            if home is not None:
                graph.join(gpu, "attached-to", hosts[home])
    for nic in topology.nics:
        if nic.host not in hosts:
            continue
        port = graph.add(topology.nic_entity(nic))
        graph.join(port, "attached-to", hosts[nic.host])
        if nic.switch and nic.host not in topology.switches:
            graph.join(port, "uplink", graph.add(topology.switch_entity(nic.switch)))
    return ranks
