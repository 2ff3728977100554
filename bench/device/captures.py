"""Files for whoever reads the result elsewhere: few, small, and without names of the machine."""

import re
import socket
from collections.abc import Iterable
from pathlib import Path

MOST_FILES, MOST_BYTES = 8, 16 << 20

_HEX = "[0-9a-fA-F]"
_KINDS = (
    # What is replaced, and by what: group 1 stays as it is, then comes the number of the thing.
    (rf"((?:GPU-|MIG-)?){_HEX}{{8}}-(?:{_HEX}{{4}}-){{3}}{_HEX}{{12}}",
     "{kept}00000000-0000-0000-0000-{number:012d}"),
    (rf"()(?<!{_HEX}){_HEX}{{4,8}}:{_HEX}{{2}}:{_HEX}{{2}}\.{_HEX}", "0000:{number:02x}:00.0"),
    (rf"(\bbusId ){_HEX}+", "{kept}{number:x}000"),
    (rf"(<pci_(?:bus|domain)>){_HEX}+", "{kept}{number:02x}"),
    (r"(<(?:chassis_serial_number|serial|board_id|pdi|gpu_fabric_guid)>)[^<]+",
     "{kept}serial-{number}"),
    (r'(hw_serial_number=")[^"]+', "{kept}serial-{number}"),
    (r"()(?<![\d.])(?!127\.)\d{1,3}(?:\.\d{1,3}){3}(?![\d.])", "192.0.2.{number}"),
)  # fmt: skip


class CaptureFolder:
    """Writes captures. The same name of the machine becomes the same word in every file."""

    def __init__(self, folder: Path, hosts: Iterable[str] = ()) -> None:
        """Write into this folder; `hosts`: names of this machine beside those it knows itself."""
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.written: list[str] = []
        names = {socket.gethostname(), socket.getfqdn(), *hosts}
        names |= {name.partition(".")[0] for name in names}
        # The longest first: a name may be the beginning of another. Not "localhost", nobody's name.
        kept = sorted(names - {"", "localhost"}, key=lambda name: (-len(name), name))
        self._hosts = re.compile(
            rf"(?<![\w.-])(?:{'|'.join(map(re.escape, kept))})(?![\w-])" if kept else r"(?!)"
        )
        self._numbers: dict[tuple[int, str], int] = {}

    def clean(self, text: str) -> str:
        """Return a text without the machine's names; numbers are given as things appear."""
        text = self._hosts.sub("host-1", text)
        for kind, (pattern, word) in enumerate(_KINDS):

            def replaced(match: re.Match[str], kind: int = kind, word: str = word) -> str:
                thing = match[0].removeprefix(match[1]).lower().lstrip("0")
                mine = sum(known == kind for known, _ in self._numbers)
                number = self._numbers.setdefault((kind, thing), mine + 1)
                return word.format(kept=match[1], number=number)

            text = re.sub(pattern, replaced, text)
        return text

    def write(self, name: str, text: str) -> None:
        """Write one file; what is beyond the limits is left out, its beginning first."""
        if len(self.written) < MOST_FILES and name not in self.written:
            self.written.append(name)
            data = self.clean(text).encode("utf-8", "replace")[-MOST_BYTES:]
            (self.folder / name).write_bytes(data)
