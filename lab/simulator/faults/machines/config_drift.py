"""host.config_drift: a host's driver, firmware or setting is not its peers', and costs time."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from ...conditions import ClusterConditions
from ...shape import SimulatedCluster
from .. import places, records, requirements
from ..draws import FaultDraw


@dataclass(frozen=True, slots=True)
class ConfigDriftFault(places.OnHost):
    """what: "driver" and "firmware" were there before the job; "governor" changes under it.

    `factor` is how much longer its devices (driver), transfers (firmware) or launches take.
    """

    id: ClassVar[str] = "host.config_drift"
    needs: ClassVar = (requirements.has_hosts(2),)
    slots: int
    what: Literal["driver", "firmware", "governor"] = "driver"
    factor: float = 1.2

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        job, what = draw.job, str(draw.random.choice(["firmware", "governor", "driver"]))
        cluster = draw.scenario.cluster
        if what == "driver" and (cluster.accelerator != "nvidia" or not cluster.gpus):
            what = "governor"
        # Transfers between two hosts are slow for both from the first step on: nothing is unusual.
        if what == "firmware" and len(job.hosts or range(cluster.hosts)) < 3:
            what = "governor"
        factor = draw.slower(1.5)
        if what == "firmware":
            factor = draw.of_step(job.collective)
        elif what == "governor":
            factor /= min(job.cpu_bound if draw.scenario.cluster.gpus else 1.0, 1.0)
        found: dict[str, Any] = {"what": what, "factor": factor}
        if what != "governor":
            found["onset"] = job.starts_after + 1.0
        return found

    def act(self, state: ClusterConditions, at: float) -> None:
        if self.what != "governor" or at >= self.onset:
            state.nodes.versions[self.host] = dict([_VERSIONS[self.what]])
        if at < self.onset:
            return
        if self.what == "driver":
            begin = self.host * self.slots
            state.drag[begin : begin + self.slots] *= self.factor
        elif self.what == "firmware":
            state.ports.transport[self.host] *= self.factor
        else:
            state.cpu_clock[self.host] /= self.factor

    def records(self, cluster: SimulatedCluster) -> list[records.FaultRecord]:
        if self.what != "governor":
            return []
        text = "cpu_governor is powersave, it was performance"
        return [records.changed(self.onset + 30.0, self.host, "config", text)]


_VERSIONS = {
    "driver": ("nvidia", "535.129.03"),
    "firmware": ("firmware.MT_0000000838", "28.36.1010"),
    "governor": ("cpu_governor", "powersave"),
}
