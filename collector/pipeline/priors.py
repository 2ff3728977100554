"""The catalogue of causes with learnt priors: shares moved by people's feedback at this site.

Only the live collector has one. A replay never does: what was learnt since would make it another.
"""

from collections.abc import Iterator, Mapping

from ...alerts.causes import shares
from ...alerts.causes.catalogue import CauseCatalogue, catalogue
from ...vocabulary.answers.causes import PriorDocument
from ...vocabulary.ids import Fault


class CatalogueInUse:
    """Holds the catalogue in use. Any thread may replace it or ask for it."""

    def __init__(self, confirmed: Mapping[Fault, int] | None = None) -> None:
        self._catalogue = catalogue()
        self.learn(confirmed or {})

    def learn(self, confirmed: Mapping[Fault, int]) -> None:
        """Take the number of confirmed incidents by fault in the place of those before."""
        self._catalogue = catalogue().with_shares(shares.learnt(published(), confirmed))

    def __call__(self) -> CauseCatalogue:
        """Return the catalogue as it is now."""
        return self._catalogue


def published() -> dict[Fault, float]:
    return {cause.fault: cause.share for cause in catalogue().causes}


def compared(confirmed: Mapping[Fault, int]) -> Iterator[PriorDocument]:
    """Yield every fault's share beside the learnt one, by name of the fault."""
    own = published()
    total = sum(confirmed.values())
    for fault in sorted(own):
        count = confirmed.get(fault, 0)
        value = shares.mean(own[fault], count, total) if total else own[fault]
        yield PriorDocument(fault=fault, catalogue=own[fault], learnt=value, confirmed=count)
