"""gpu.pcie_degraded: a device's PCIe link trains narrower or slower; copies and network wait."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ...conditions import ClusterConditions
from ...shape import SimulatedCluster
from .. import places, records, requirements
from ..draws import FaultDraw


@dataclass(frozen=True, slots=True)
class PcieDegradedFault(places.OnDevice):
    """`lanes` is the width that is left as a ratio, `generations` how far its speed fell.

    `replays` packets a second are sent again. `logged`: corrected errors of the bus in the log.
    """

    id: ClassVar[str] = "gpu.pcie_degraded"
    needs: ClassVar = (requirements.with_devices,)
    until: float = float("inf")
    lanes: float = 0.25
    generations: int = 0
    replays: float = 0.2
    logged: bool = False

    @classmethod
    def drawn(cls, draw: FaultDraw) -> dict[str, Any]:
        if draw.weak:
            lanes, generations = (0.5, 0) if draw.flip(0.5) else (1.0, 1)
        else:
            lanes, generations = [(0.25, 0), (0.0625, 0), (0.5, 1), (1.0, 2)][
                int(draw.random.integers(4))
            ]
        return {
            "lanes": lanes,
            "generations": generations,
            "replays": float(draw.random.uniform(0, 0.1 if draw.weak else 5.0)),
            "logged": draw.flip(0.4) and not draw.weak,
            **draw.lasting(),
        }

    def act(self, state: ClusterConditions, at: float) -> None:
        if not self.onset <= at < self.until:
            return
        slot = self.slot
        devices = state.devices
        devices.lanes[slot] = self.lanes
        devices.generation[slot] = self.generations
        devices.replays[slot] = self.replays
        # Copies between host and device are a small part of a step's work.
        bus = self.lanes * 0.5**self.generations
        state.drag[slot] *= 1 + 0.03 * (1 / bus - 1)

    def records(self, cluster: SimulatedCluster) -> list[records.FaultRecord]:
        if not self.logged:
            return []
        device = f"0000:{0x18 + 8 * self.place:02x}:00.0"
        text = f"pcieport 0000:15:01.0: AER: Corrected error received from {device}"
        return [
            records.kernel(
                self.onset + 7.0 * number,
                self.host,
                "pcie.aer_corrected",
                "confirmation",
                text,
                device,
            )
            for number in range(4)
        ]
