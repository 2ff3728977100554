"""Faults of programs and what they run on."""

from .scene import FaultScene


def stuck(scene: FaultScene) -> None:
    scene.at_rank()
    scene.at(lambda: setattr(scene.process(), "stuck", True))


def deadlock(scene: FaultScene) -> None:
    scene.at_job()

    def lock() -> None:
        for one in scene.cluster.ranks:
            one.never_enters = True

    scene.at(lock)


def uneven(scene: FaultScene) -> None:
    scene.at_rank()
    scene.at(lambda: scene.process().end(0))


def slow_loader(scene: FaultScene) -> None:
    whole = scene.rng.random() < 0.5
    scene.at_job() if whole else scene.at_rank()
    slow = scene.amount(4.5, 2.6)

    def drag() -> None:
        for one in scene.cluster.ranks if whole else [scene.process()]:
            one.loader.slow = slow

    scene.at(drag)


def collections(scene: FaultScene) -> None:
    scene.at_job()

    def collect() -> None:
        switches = scene.process().job.switches
        switches.collect_every = scene.cluster.plan.ranks
        switches.collect_seconds = scene.amount(0.8, 0.3) * scene.cluster.plan.compute

    scene.at(collect)


def slow_saves(scene: FaultScene) -> None:
    scene.at_job()
    slow = scene.amount(8.0, 3.5)
    scene.at(lambda: setattr(scene.process().job.switches, "save_slow", slow))


def regression(scene: FaultScene) -> None:
    scene.at_job("code")
    scene.onset = scene.cluster.plan.restart_at * scene.cluster.plan.seconds

    def deploy() -> None:
        scene.process().job.switches.work = scene.amount(1.5, 1.18)
        named = {"kind": "code", "text": "commit 4f1c2ab deployed"}
        scene.cluster.event(scene.host, "change", {**named})

    scene.at(deploy, 1.0)


def recompiles(scene: FaultScene) -> None:
    scene.at_job()

    def break_shapes() -> None:
        switches = scene.process().job.switches
        switches.recompile_every = 5
        switches.recompile_seconds = scene.amount(4.0, 1.2) * scene.cluster.plan.compute

    scene.at(break_shapes)


def crash(scene: FaultScene) -> None:
    scene.at_rank()
    text = "Fatal Python error: Segmentation fault"
    scene.at(lambda: scene.crash("python.segfault", text, 139, 11))


def not_started(scene: FaultScene) -> None:
    scene.at_job()
    scene.onset = 1.0
    scene.cluster.init_blocked = True
