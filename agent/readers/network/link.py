"""One link: the files of its state, held open, and what they hold."""

from typing import Literal

from ....vocabulary.samples import attributes
from ... import kernel_files
from ...kernel_files import FileTrouble, HeldFile
from .flapping import LinkFlaps
from .inventory import NetworkPort

State = Literal["up", "down", "off", "away", "unknown"]
"""off: set down on this host. away: its files are gone. unknown: no file shows it."""

_UP_FLAG = 0x1
_DISABLED = "3:"


class PortLink:
    """A port's link. `net` is the folder of its interface, "" where it has none.

    `was_up`: it was up since the host started. `up` is what was read last, None before that.
    """

    def __init__(self, port: NetworkPort, net: str, *, was_up: bool) -> None:
        self.port = port
        self.flapping = LinkFlaps()
        self.up: bool | None = None
        self.pairs = attributes({"device": port.device, "port": port.port})
        self._net = net
        # An IPoIB interface may be down while RDMA works; EFA always says that its port is active.
        by_net = bool(net) and port.kind != "infiniband"
        by_port = not by_net and port.kind != "efa"
        self._carrier = HeldFile(f"{net}/carrier") if by_net else None
        self._changes = HeldFile(f"{net}/carrier_changes") if by_net else None
        self._state = HeldFile(f"{port.folder}/state") if by_port else None
        self._counted: int | None = None
        self.was_up = was_up or self._used()

    def state(self) -> State:
        """Read whether it is up."""
        if self._carrier is not None:
            text = self._carrier.text()
            if text == "1":
                return "up"
            if text == "":
                return "unknown"  # being written
            if text is FileTrouble.ABSENT:
                return "away"
            flags = kernel_files.number(f"{self._net}/flags")
            off = text is FileTrouble.REFUSED if flags is None else not flags & _UP_FLAG
            return "off" if off else "down"
        if self._state is None:
            return "unknown"
        text = self._state.text()
        if text is FileTrouble.ABSENT:
            return "away"
        if not isinstance(text, str) or not text:
            return "unknown"
        if text.startswith("4:"):
            return "up"
        physical = kernel_files.text(f"{self.port.folder}/phys_state")
        return "off" if physical.startswith(_DISABLED) else "down"

    def changes(self, *, changed: bool) -> int:
        """Return how often it changed since the last reading; `changed`: one change was seen.

        The kernel counts changes of the carrier. It may count one more between our reading of the
        carrier and of the count: that one is left for the next reading.
        """
        text = self._changes.text() if self._changes is not None else ""
        counted = int(text) if isinstance(text, str) and text.isdigit() else None
        before = self._counted
        if counted is None or before is None or counted < before:
            self._counted = counted
            return int(changed)
        grown = counted - before
        if grown and grown % 2 != int(changed):
            grown -= 1
        self._counted = before + grown
        return max(grown, int(changed))

    def why(self, state: State) -> tuple[str, str]:
        """Return (reason, text) of a link that went down."""
        if state == "off":
            return "admin", "it was set down on this host"
        if self._state is not None:
            text = self._state.text()
            if isinstance(text, str) and text.startswith(("2:", "3:")):
                why = f"the link is there, but no subnet manager set it up ({text})"
                return "subnet_manager", why
        return "carrier", "no carrier: cable, transceiver or the switch's port"

    def close(self) -> None:
        """Give the files back; the next reading opens them anew."""
        for held in (self._carrier, self._changes, self._state):
            if held is not None:
                held.close()

    def _used(self) -> bool:
        """Return whether it was ever up since the host started, by what it has counted."""
        if self._carrier is not None:
            ups = kernel_files.number(f"{self._net}/carrier_up_count")
            if ups is not None:
                return ups > 0
            return (kernel_files.number(f"{self._net}/carrier_changes") or 0) > 1
        counted = ("port_rcv_data", "link_downed")
        folder = f"{self.port.folder}/counters"
        return any(kernel_files.number(f"{folder}/{name}") for name in counted)
