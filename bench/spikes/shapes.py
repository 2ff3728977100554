"""What a run is like beside its fault: ranks, step, place and strength, drawn by its seed."""

import random
from dataclasses import dataclass, field

FIRST_AT, LAST_AT = 90, 120
"""Steps in which a fault may begin."""
AFTER, LOST = 45, 12
"""Steps that a run goes on for; those that the first attempt had made since its checkpoint."""
RANKS = (2, 3, 4)


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


@dataclass(frozen=True, slots=True)
class SpikeShape:
    """Everything that a trainer does besides its usual steps.

    at: the first step of the fault, and that of the checkpoint where the run is resumed. suspect:
    the rank that has it, where one has. place: of an element in a tensor, of a tensor in a model,
    in [0, 1).
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

    @property
    def steps(self) -> int:
        """Return where training ends."""
        return self.at + AFTER

    @property
    def stops(self) -> int:
        """Return where the first attempt of a resumed run ends."""
        return self.at + LOST


def drawn(fault: SpikeFault, seed: int) -> SpikeShape:
    """Return the shape of a run; the same for the same fault and seed, on every machine."""
    draw = random.Random(f"{fault.name} {seed}")
    ranks = draw.choice(RANKS)
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
    )
