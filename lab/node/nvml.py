"""A driver without a GPU: builds the NVML stub and writes the scenario that it answers from.

A client under test is any program that loads `libnvidia-ml.so.1`; start it with the scenario's
`environment()` and change the scenario while it runs. A change is seen within about 20 ms.
"""

import hashlib
import os
import shutil
import subprocess
import tempfile
import time
import tomllib
import uuid
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

HERE = Path(__file__).parent
SOURCES = tuple(sorted([*HERE.glob("nvml_*.h"), HERE / "nvml_stub.c"]))
LIBRARY = "libnvidia-ml.so.1"
SEEN_AFTER = 0.02
"""Seconds after which every call of every client knows a change of the scenario."""

FLAGS = ("-std=c11", "-D_GNU_SOURCE", "-O2", "-fvisibility=hidden", "-shared", "-fPIC")

Section = int | Literal["all", "global"]
Value = int | float | str

# Bus numbers of the eight GPUs of a common two-socket server; further ones are in a next domain.
BUSES = (0x1B, 0x43, 0x52, 0x61, 0x9D, 0xC3, 0xD1, 0xDF)
DRIVERS: dict[str, Value] = {
    "driver_version": "570.133.20",
    "nvml_version": "12.570.133.20",
    "cuda_version": 12080,
}


class NoCompilerError(RuntimeError):
    """The stub is C and there is nothing here to compile it with."""


def cache() -> Path:
    """Return where built stubs are kept: the user's cache folder."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "rankscope" / "nvml-stub"


def library(*, without: Iterable[str] = (), folder: Path | None = None) -> Path:
    """Return the folder that holds the built stub, building it when its source is new.

    `without` names functions whose symbols shall be missing altogether, as in an old driver's
    library. Raises NoCompilerError, or CalledProcessError when the compiler refuses.
    """
    gone = sorted(without)
    text = b"\0".join([*(source.read_bytes() for source in SOURCES), repr((FLAGS, gone)).encode()])
    made = (folder or cache()) / hashlib.sha256(text).hexdigest()[:16]
    if (made / LIBRARY).exists():
        return made
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        raise NoCompilerError("the NVML stub needs a C compiler: install gcc (apt install gcc)")
    made.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=made) as workshop:
        fresh = Path(workshop) / LIBRARY
        # A renamed function is one that a client's look-up does not find.
        renamed = [f"-D{name}=absent_{name}" for name in gone]
        source = str(HERE / "nvml_stub.c")
        subprocess.run(
            [compiler, *FLAGS, *renamed, "-o", str(fresh), source, "-lpthread"],
            check=True,
            capture_output=True,
            text=True,
        )
        fresh.replace(made / LIBRARY)  # two builders at once: either's result is the same
    return made


def load_profile(name: str, *, busy: bool = True) -> dict[str, Value]:
    """Return what a GPU of this kind says, at work or idle. Raises KeyError for an unknown kind."""
    tables = tomllib.loads((HERE / "profiles.toml").read_text(encoding="utf-8"))
    if name not in tables or name == "common":
        known = ", ".join(sorted(set(tables) - {"common"}))
        raise KeyError(f"no GPU profile {name!r}; there are {known}")
    chain = [tables["common"], tables[name]]
    if "like" in tables[name]:
        chain.insert(1, tables[tables[name]["like"]])
    values: dict[str, Value] = {}
    for form in ["busy"] if busy else ["busy", "idle"]:
        for table in chain:
            values |= table.get(form, {})
    return values


def gpu_uuid(gpu: int, host: str = "node") -> str:
    """Return the UUID that the stub's GPU of this number has: the same at every run."""
    return f"GPU-{uuid.uuid5(uuid.NAMESPACE_DNS, f'{host}.gpu{gpu}.rankscope.invalid')}"


def bus_address(gpu: int) -> str:
    """Return the PCI address of the stub's GPU of this number, as sysfs writes it."""
    return f"{gpu // len(BUSES):04x}:{BUSES[gpu % len(BUSES)]:02x}:00.0"


class NvmlScenario:
    """One node's GPUs as a file that the stub answers from.

    A device is known by its number in the file, which never changes; the index that the driver
    gives it follows `renumber`. Keys are listed in profiles.toml and read in nvml_*.h. Further
    keys of a device: `state` (ok, lost, reset_required, hang), `hang_calls` and `not_supported`
    (comma-separated functions), `slow_ms`, `error.<function>` (a return code).
    """

    def __init__(
        self,
        folder: Path,
        *,
        profile: str = "H100",
        gpus: int = 8,
        busy: bool = True,
        host: str = "node",
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.path = folder / "nvml.scenario"
        self.gpus = gpus
        self._clock = clock
        self._held = 0
        now = clock()
        self._values: dict[tuple[Section, str], str] = {}
        self._put("global", {"gpus": gpus, "epoch": f"{now:.3f}", **DRIVERS})
        self._put("all", load_profile(profile, busy=busy))
        for gpu in range(gpus):
            own: dict[str, Value] = {
                "uuid": gpu_uuid(gpu, host),
                "pci": bus_address(gpu),
                "minor": gpu,
            }
            own |= {"serial": f"16529230{gpu:05d}", "energy_mj": 0}
            self._put(gpu, own)
            self._accrue(gpu)
        folder.mkdir(parents=True, exist_ok=True)
        self._write()

    def environment(self, *, without: Iterable[str] = ()) -> dict[str, str]:
        """Return the variables that put the stub under a program (add them to its environment)."""
        paths = [str(library(without=without)), os.environ.get("LD_LIBRARY_PATH", "")]
        return {
            "LD_LIBRARY_PATH": ":".join(path for path in paths if path),
            "RANKSCOPE_NVML_STUB": str(self.path),
        }

    # -- one value ---------------------------------------------------------------------------

    def get(self, section: Section, key: str) -> str | None:
        """Return a value's text as the file has it; a device's own, else what all have."""
        own = self._values.get((section, key))
        return own if own is not None or section == "global" else self._values.get(("all", key))

    def set(self, section: Section, key: str, value: Value) -> None:
        """Say what a device (or all, or the system) answers from now on."""
        self._put(section, {key: value})
        if key == "power_mw":
            concerned: Iterable[Section] = range(self.gpus) if section == "all" else [section]
            for gpu in concerned:
                self._accrue(gpu)
        self._write()

    def unset(self, section: Section, key: str) -> None:
        """Go back to what all devices answer, or to "not supported"."""
        self._values.pop((section, key), None)
        self._write()

    def ramp(self, section: Section, key: str, per_second: float) -> None:
        """Let a counter grow from what it is now, by so much a second."""
        self._grow(section, key, per_second)
        self._write()

    def now(self, section: Section, key: str) -> float:
        """Return what a number is at this moment, growth included."""
        text = self.get(section, key) or "0"
        base, _, growth = text.partition("+")
        if not growth:
            return float(int(base, 0)) if base.strip().startswith("0x") else float(base)
        rate, _, since = growth.partition("/s")
        start = since.strip().lstrip("@") or self._values["global", "epoch"]
        return float(base) + float(rate) * (self._clock() - float(start))

    @contextmanager
    def together(self) -> Generator[None]:
        """Write the changes made in this block as one."""
        self._held += 1
        try:
            yield
        finally:
            self._held -= 1
            self._write()

    # -- what befalls a node -----------------------------------------------------------------

    def lose(self, gpu: int) -> None:
        """Let the device fall off the bus: every call about it fails with GPU_IS_LOST."""
        self.set(gpu, "state", "lost")

    def require_reset(self, gpu: int) -> None:
        """Let the device refuse readings until it is reset."""
        self.set(gpu, "state", "reset_required")

    def hang(self, gpu: int, *functions: str) -> None:
        """Let calls about this device block (all that ask it, or only these) until `recover`."""
        with self.together():
            self.set(gpu, "hang_calls", ",".join(functions) if functions else "unsupported")
            self.set(gpu, "state", "hang")

    def recover(self, gpu: int) -> None:
        """Let the device answer again."""
        self.set(gpu, "state", "ok")

    def hang_everything(self, *, hung: bool = True) -> None:
        """Let every call of every client block, starting the library too, or go on again."""
        self.set("global", "hang", int(hung))

    def xid(self, gpu: int, code: int) -> None:
        """Raise one XID through the event set."""
        self._tell(gpu, "xid", str(code))

    def event(self, gpu: int, kind: int, data: int = 0) -> None:
        """Raise any other event, by NVML's type: 2 is a double-bit ECC error."""
        self._tell(gpu, "events", f"{kind:#x}:{data}")

    def operational(self, gpu: int, xid: int, *, severity: int = 40, attributes: int = 0) -> None:
        """Raise a GPU Operational Event, with its severity and attributes in NVML's numbers."""
        self._tell(gpu, "operational", f"{xid}:{severity}:{attributes}")

    def renumber(self, order: Sequence[int]) -> None:
        """Give the devices new indices: those named, in this order; one left out is gone."""
        self.set("global", "order", " ".join(f"gpu{gpu}" for gpu in order))

    def vanish(self, gpu: int) -> None:
        """Take the device away: the count shrinks and its old handles fail."""
        order = self._values.get(("global", "order"))
        there = order.split() if order else [f"gpu{number}" for number in range(self.gpus)]
        self.renumber([int(name[3:]) for name in there if name != f"gpu{gpu}"])

    def absent(self, *functions: str) -> None:
        """Let these functions answer FUNCTION_NOT_FOUND, as in an older driver."""
        self.set("global", "absent", ",".join(functions))

    def unsupported(self, section: Section, *functions: str) -> None:
        """Let these functions answer NOT_SUPPORTED for a device, or for all."""
        self.set(section, "not_supported", ",".join(functions))

    def fail(self, section: Section, function: str, code: int) -> None:
        """Let one function (or "all" of them) return this code; 0 ends it."""
        self.set(section, f"error.{function}", code)

    def processes(self, gpu: int, memory: Mapping[int, int]) -> None:
        """Say which processes compute on the device, as pid to bytes."""
        self.set(gpu, "processes", ", ".join(f"{pid}:{size}" for pid, size in memory.items()))

    def _tell(self, gpu: int, key: str, what: str) -> None:
        before = [part for part in (self.get(gpu, key) or "").split(", ") if part]
        serial = int(before[-1].split(":")[0]) + 1 if before else 1
        self.set(gpu, key, ", ".join([*before[-63:], f"{serial}:{what}"]))

    # -- the file ----------------------------------------------------------------------------

    def _put(self, section: Section, values: Mapping[str, Value]) -> None:
        for key, value in values.items():
            text = str(value)
            if "\n" in text or "=" in key:
                raise ValueError(f"{section}.{key}: a value is one line, a key has no '='")
            self._values[section, key] = text

    def _grow(self, section: Section, key: str, per_second: float) -> None:
        base = int(self.now(section, key))
        at = self._clock()
        self._values[section, key] = f"{base} +{per_second:.6f}/s @{at:.3f}"

    def _accrue(self, gpu: Section) -> None:
        """Keep energy the integral of power: milliwatts are millijoules a second."""
        self._grow(gpu, "energy_mj", float(self.get(gpu, "power_mw") or 0))

    def _write(self) -> None:
        if self._held:
            return
        lines = [
            f"{f'gpu{section}' if isinstance(section, int) else section}.{key} = {value}\n"
            for (section, key), value in self._values.items()
        ]
        fresh = self.path.with_suffix(".fresh")
        fresh.write_text("".join(lines), encoding="utf-8")
        fresh.replace(self.path)
