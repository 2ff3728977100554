"""What a run is like beside its fault: layout, ranks, step, place, strength, drawn by its seed."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from rankscope.vocabulary import tables

FIRST_AT, LAST_AT = 90, 120
"""Steps in which a fault may begin."""
AFTER, LOST = 45, 12
"""Steps that a run goes on for; those that the first attempt had made since its checkpoint."""
_LAYOUTS = "layouts.toml"


@dataclass(frozen=True, slots=True)
class SpikeFault:
    """A row of faults.toml. `words`: the text has to have them too.

    runs: that make up the set. factor: from, to, drawn evenly by its logarithm. lasts: steps, from,
    to. variants: of which one is drawn.
    """

    name: str
    causes: tuple[str, ...] = ()
    says: tuple[str, ...] = ()
    words: str = ""
    batch: bool = False
    resumes: bool = False
    clean: bool = False
    runs: int = 10
    factor: tuple[float, ...] = (1.0, 1.0)
    lasts: tuple[int, ...] = (4, 4)
    variants: tuple[str, ...] = field(default=("",))


_NEVER = 1e9
"""A norm that is not reached: the loop of most runs clips by it, to know the norm."""


@dataclass(frozen=True, slots=True)
class TrainingLayout:
    """A row of layouts.toml, which says what the fields mean."""

    name: str
    parallel: str = "replicas"
    optimizer: str = "adamw"
    micro: int = 1
    precision: str = ""
    clip: float = 0.0
    part: int = 1
    ranks: tuple[int, ...] = (2, 3, 4)
    marked: bool = True
    faults: tuple[str, ...] = field(default=())

    @property
    def micro_batches(self) -> int:
        """Return how many batches of the loader an update has: a pipeline cuts one itself."""
        return 1 if self.parallel == "pipeline" else self.micro


REPLICAS = TrainingLayout("replicas", clip=_NEVER)
"""How runs train that name no layout."""


@dataclass(frozen=True, slots=True)
class LayoutFaults:
    """The faults, and the clean runs, that every layout can have."""

    faults: tuple[str, ...]
    clean: tuple[str, ...]


@cache
def layouts() -> Mapping[str, TrainingLayout]:
    """Return the layouts by name; that of runs which name none too."""
    rows = tables.packaged(TrainingLayout, __package__ or "", _LAYOUTS, "layout", beside="data")
    return {one.name: one for one in (REPLICAS, *rows)}


@dataclass(frozen=True, slots=True)
class SpikeShape:
    """Everything that a trainer does besides its usual steps.

    at: the first step of the fault, and that of the checkpoint where the run is resumed. suspect:
    the rank that has it, where one has. place: of an element in a tensor, of a tensor in a model,
    in [0, 1). layout: as the model is trained. part: ranks that hold one copy of it.
    """

    fault: str
    seed: int
    resumes: bool
    ranks: int = 2
    at: int = 150
    suspect: int = 1
    lasts: int = 4
    factor: float = 1.0
    variant: str = ""
    place: float = 0.1
    tensor: float = 0.1
    layout: str = "replicas"
    part: int = 1

    @property
    def steps(self) -> int:
        """Return where training ends."""
        return self.at + AFTER

    @property
    def shares(self) -> int:
        """Return how many ranks, or groups of them, read data of their own."""
        return self.ranks // self.part

    def share_of(self, rank: int) -> int:
        """Return which share of the data a rank reads."""
        return rank // self.part

    @property
    def stops(self) -> int:
        """Return where the first attempt of a resumed run ends."""
        return self.at + LOST


def drawn(fault: SpikeFault, seed: int, layout: TrainingLayout = REPLICAS) -> SpikeShape:
    """Return the shape of a run; the same for the same fault and seed, on every machine."""
    of = "" if layout is REPLICAS else f" {layout.name}"
    draw = random.Random(f"{fault.name} {seed}{of}")
    ranks = draw.choice(layout.ranks)
    low, high = fault.factor
    return SpikeShape(
        fault=fault.name,
        seed=seed,
        resumes=fault.resumes,
        ranks=ranks,
        at=draw.randint(FIRST_AT, LAST_AT),
        suspect=draw.randrange(ranks),
        lasts=draw.randint(*fault.lasts),
        factor=low * (high / low) ** draw.random(),
        variant=draw.choice(fault.variants),
        place=draw.random(),
        tensor=draw.random(),
        layout=layout.name,
        part=layout.part,
    )


def mixed(faults: Mapping[str, SpikeFault], seed: int, *, clean: bool) -> SpikeShape:
    """Return the shape of a run of one of the layouts, with one of the faults that it can have."""
    draw = random.Random(f"{'clean' if clean else 'faulty'} {seed}")
    layout = draw.choice([one for one in layouts().values() if one is not REPLICAS])
    content = tables.parsed(tables.text(__package__ or "", _LAYOUTS), _LAYOUTS)
    every = tables.row(LayoutFaults, content["data"], _LAYOUTS)
    names = [*every.faults, *every.clean, *layout.faults]
    name = draw.choice([one for one in names if faults[one].clean == clean])
    return drawn(faults[name], seed, layout)
