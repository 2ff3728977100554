"""Work that is spread unevenly over ranks."""

from .scene import FaultScene, about_group


def gather(scene: FaultScene) -> None:
    scene.rank = 0
    scene.at_rank()

    def gather() -> None:
        one = scene.process()
        one.extra_device = scene.amount(0.4, 0.12) * scene.cluster.plan.compute
        one.memory_skew = 1.2

    scene.at(gather)


def preprocessing(scene: FaultScene) -> None:
    scene.rank = 0
    scene.at_rank()
    extra = scene.amount(0.5, 0.15) * scene.cluster.plan.compute
    scene.at(lambda: setattr(scene.process(), "extra_data", extra))


def heavy_stage(scene: FaultScene) -> None:
    scene.onset = 5.0  # a stage on one host that slows later may be that host

    def weigh() -> None:
        job = scene.process().job
        last = job.pp - 1
        job.switches.stage_slow[last] = scene.amount(1.6, 1.2)
        about_group(scene, "dp", job.dp * last)

    scene.at_job()
    scene.at(weigh)


def long_sequences(scene: FaultScene) -> None:
    scene.at_job()
    sigma = scene.amount(0.4, 0.18)
    scene.at(lambda: setattr(scene.process().job.switches, "token_sigma", sigma))


def busy_expert(scene: FaultScene) -> None:
    def load() -> None:
        scene.process().slow_tokens = scene.amount(1.7, 1.25)
        about_group(scene, "ep", scene.rank)

    scene.at_job()
    scene.at(load)
