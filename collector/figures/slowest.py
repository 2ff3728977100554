"""A job without its slowest ranks or hosts, as JSON has it."""

from typing import Literal

from ...detectors.counterfactual.slowest import SlowPlace, StepsWithoutSlowest, without_slowest
from ...detectors.window import JobWindow
from ...vocabulary.answers.gains import RemovalGain, SlowestDocument, SlowPlaceDocument


def slowest(window: JobWindow, by: Literal["rank", "host"]) -> SlowestDocument:
    """Return the newest steps of a job, and what they would take without its slowest."""
    found = without_slowest(window, by)
    if found is None:
        return SlowestDocument(
            by=by, basis=None, step_seconds=None, steps=0, slowest=[], without=[]
        )
    gpus = window.world_size
    return SlowestDocument(
        by=by,
        basis="phases",
        step_seconds=found.step_seconds,
        steps=found.steps,
        slowest=[_place(window, place, by, found, gpus) for place in found.places],
        without=[
            RemovalGain(
                removed=count,
                without=steps,
                an_hour=steps.gain_of(found.step_seconds, gpus),
            )
            for count, steps in found.removed.items()
        ],
    )


def _place(
    window: JobWindow,
    place: SlowPlace,
    by: Literal["rank", "host"],
    found: StepsWithoutSlowest,
    gpus: int,
) -> SlowPlaceDocument:
    without = place.without
    of_rank = by == "rank"
    return SlowPlaceDocument(
        rank=int(window.ranks[place.number]) if of_rank else None,
        host=window.host_name(place.number) if of_rank else window.hosts[place.number],
        behind_seconds=place.seconds,
        without=without,
        an_hour=None if without is None else without.gain_of(found.step_seconds, gpus),
    )
