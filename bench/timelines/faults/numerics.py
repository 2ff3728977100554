"""Values that go wrong."""

from collections.abc import Callable

from .scene import FaultScene


def bad_values(kind: str) -> Callable[[FaultScene], None]:
    def strike(scene: FaultScene) -> None:
        scene.at_job()
        curve = scene.cluster.curve
        curve.strength = scene.amount(1.0, 0.4)

        def break_from() -> None:
            curve.broken, curve.broken_from = kind, scene.process().step + 1

        scene.at(break_from)

    return strike


def bad_resume(scene: FaultScene) -> None:
    bad_values("resume")(scene)
    scene.onset = scene.cluster.plan.restart_at * scene.cluster.plan.seconds
    scene.at(lambda: setattr(scene.cluster.curve, "broken", "resume"))
    curve = scene.cluster.curve
    scene.at(lambda: setattr(curve, "broken_from", scene.process().job.last_saved))


def bad_rank(scene: FaultScene) -> None:
    scene.at_rank()

    def strike() -> None:
        step = scene.process().step + 1
        for one in scene.cluster.ranks:
            one.nan_from = step if one.rank == scene.rank else step + 1

    scene.at(strike)


def underflow(scene: FaultScene) -> None:
    scene.at_job()

    def strike() -> None:
        step = scene.process().step + 1
        scene.process().job.switches.overflow_from = step
        scene.cluster.curve.broken, scene.cluster.curve.broken_from = "nan", step + 18

    scene.at(strike)
