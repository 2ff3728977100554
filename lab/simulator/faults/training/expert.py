"""balance.expert: the router sends most tokens to the experts of one rank."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from .....vocabulary import entities
from .....vocabulary.ranks import RankSet
from ...conditions import ClusterConditions
from ...placement import RankSeats
from ...shape import SimulatedCluster
from .. import requirements
from ..draws import FaultDraw


@dataclass(frozen=True, slots=True)
class ExpertFault:
    """`member` of the expert-parallel `group` gets `factor` times its share, within `ramp` s."""

    id: ClassVar[str] = "balance.expert"
    needs: ClassVar = (requirements.with_experts,)
    onset: float
    group: int = 0
    member: int = 0
    factor: float = 1.8
    ramp: float = 20.0

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        factor = draw.between(plain=(1.6, 2.2), weak=(1.2, 1.3))
        member = int(draw.random.integers(draw.job.ep))
        return {"factor": factor, "member": member, "ramp": float(draw.random.uniform(5, 60))}

    def act(self, state: ClusterConditions, at: float) -> None:
        if at >= self.onset:
            force = min(1.0, (at - self.onset) / self.ramp) if self.ramp else 1.0
            factor = 1 + (self.factor - 1) * force
            state.training.hot = (self.group, self.member, factor)

    def entity(self, cluster: SimulatedCluster, seats: RankSeats, job: str) -> entities.Entity:
        """Return the expert-parallel group."""
        return self._groups(seats)[0]

    def accepted(
        self, cluster: SimulatedCluster, seats: RankSeats, job: str
    ) -> Sequence[entities.Entity]:
        """Return the groups of the other stages and tensor indices, which route the same tokens."""
        return self._groups(seats)[1:]

    def _groups(self, seats: RankSeats) -> list[entities.Entity]:
        """Return every group whose member gets the tokens: one a stage and tensor index."""
        found = [group for group in seats.groups if group.kind == "ep"]
        return [
            entities.Entity("group", group.name, None, RankSet(group.members.tolist()))
            for group in found
            if int(seats.dp[group.members[0]]) // len(group.members) == self.group
        ]
