"""Faults of the training values: a function a fault, as faults.toml says."""

import math

from ..effects import RestartMark, Scalar
from ..situation import CaseSituation


def nan_data(case: CaseSituation) -> None:
    case.blame_job()
    count = max(2, case.plan.world // 4)
    first = set(case.rng.choice(case.plan.world, count, replace=False).tolist())
    later = case.onset + case.pace.step * 1.2
    for metric in ("training.loss", "training.grad_norm"):
        for rank in first:
            case.edit(metric, "set", math.nan, rank=rank)
        case.edit(metric, "set", math.nan, begin=later)
    for rank in first:
        case.edit("training.nonfinite", "least", 1.0, rank=rank)
    case.edit("training.nonfinite", "least", 2.0e7, begin=later)
    for one in case.everybody:
        at = case.onset if one in first else later
        step = int(case.first_step + (at - case.first_step_at) / case.pace.step)
        said: dict[str, Scalar] = {"rank": one, "step": step, "what": "loss", "value": "NaN"}
        case.say("training.numeric", one, at + case.pace.step, said)


def nan_precision(case: CaseSituation) -> None:
    case.blame_job()
    case.curve.scale = 65536.0
    at, scale = case.onset, 65536.0
    gap = case.amount((6.0, 10.0), (10.0, 14.0))
    while scale > 1.0 and at < case.end - 30.0:
        scale /= 2.0
        case.edit("training.loss_scale", "set", scale, begin=at)
        case.edit("training.grad_norm", "set", math.inf, begin=at, end=at + case.pace.step)
        case.edit("training.nonfinite", "least", 3000.0, begin=at, end=at + case.pace.step)
        at += max(gap, case.pace.step)
    if not case.weak:
        case.edit("training.loss", "set", math.nan, begin=at)
        case.edit("training.grad_norm", "set", math.nan, begin=at)


def nan_rank(case: CaseSituation) -> None:
    case.curve.global_loss = False
    rank = case.a_rank()
    case.blame_rank(rank, also=(("gpu", case.gpu(rank)),))
    at = case.onset
    while at < case.end:
        width = case.pace.step * 1.05
        case.edit("training.grad_norm", "set", math.nan, rank=rank, begin=at, end=at + width)
        case.edit("training.nonfinite", "least", 5000.0, rank=rank, begin=at, end=at + width)
        if not case.weak:
            case.edit("training.loss", "set", math.nan, rank=rank, begin=at, end=at + width)
        at += width * float(case.rng.uniform(2.0, 8.0))


def loss_spike(case: CaseSituation) -> None:
    case.blame_job()
    lasts = max(6.0 * case.pace.step, 12.0)
    size = case.amount((0.6, 1.5), (0.22, 0.35))
    case.edit("training.loss", "pulse", size, begin=case.onset, lasts=lasts)
    case.edit(
        "training.grad_norm", "pulse", 6.0 * size, begin=case.onset - case.pace.step, lasts=lasts
    )


def divergence(case: CaseSituation) -> None:
    case.blame_job()
    left = case.end - case.onset
    grows = math.log(case.amount((2.0, 4.0), (1.25, 1.4))) / left
    case.edit("training.loss", "grow", grows, lasts=left)
    case.edit("training.grad_norm", "grow", 2.0 * grows, lasts=left)


def gradient_explosion(case: CaseSituation) -> None:
    case.blame_job()
    lasts = 60.0
    case.edit(
        "training.grad_norm",
        "grow",
        math.log(case.amount((300.0, 1e5), (15.0, 40.0))) / lasts,
        lasts=lasts,
    )
    case.edit(
        "training.loss",
        "grow",
        math.log(case.amount((1.5, 2.5), (1.05, 1.15))) / 120.0,
        begin=case.onset + 25.0,
        lasts=120.0,
    )


def gradient_vanishing(case: CaseSituation) -> None:
    case.blame_job()
    case.edit(
        "training.grad_norm", "grow", math.log(1e-8 if not case.weak else 1e-5) / 60.0, lasts=60.0
    )


def plateau(case: CaseSituation) -> None:
    case.blame_job()
    case.edit("training.learning_rate", "scale", 0.0 if not case.weak else 1e-4)
    case.flat_from = case.onset


def bad_resume(case: CaseSituation) -> None:
    case.blame_job(onset=case.onset + 40.0)
    case.restart = RestartMark(case.onset, 40.0, case.plan.world, 5, "requeued")
    case.say(
        "scheduler.event",
        0,
        case.onset - 1.0,
        {"reason": "Requeued", "text": "job requeued after maintenance"},
    )
    size = case.amount((1.45, 2.2), (1.15, 1.25))
    case.edit("training.loss", "scale", size, begin=case.onset + 10.0)
    case.edit("training.grad_norm", "scale", 1.0 + 4.0 * (size - 1.0), begin=case.onset + 10.0)


def replica_divergence(case: CaseSituation) -> None:
    case.curve.global_loss = False
    place = case.layout.ranks[case.a_rank()]
    same = tuple(one.rank for one in case.layout.ranks if one.dp == place.dp)
    host = case.layout.host_of(place.rank)
    also = tuple(("rank", str(rank)) for rank in same)
    case.blame("rank", str(place.rank), host=host, ranks=same, also=also)
    grows = math.log(case.amount((1.4, 2.0), (1.12, 1.2))) / 240.0
    for rank in same:
        case.edit("training.loss", "grow", grows, rank=rank, lasts=240.0)
        case.edit("training.grad_norm", "grow", 1.5 * grows, rank=rank, lasts=240.0)
