"""The types that users' code relies on. Checked by `make types`, never run."""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any, assert_type

from rankscope import probe
from rankscope.dashboards import console
from rankscope.probe import accelerate, huggingface, lightning
from rankscope.probe.silent import SilentWatch
from rankscope.probe.watch import Watch
from rankscope.vocabulary import entities, faults, findings, metrics, times
from rankscope.vocabulary.incidents import Incident
from rankscope.vocabulary.samples import Sample


def attaching(model: object, optimizer: object) -> None:
    """Every argument is optional; each is of the plainest type."""
    assert_type(probe.attach(), Watch | SilentWatch)
    probe.attach(model=model, optimizer=optimizer)
    probe.attach(job="llm", attempt=1, rank=0, world_size=8)


def a_loop(loader: list[int]) -> None:
    """Call what a training loop calls; batches keep their type."""
    watch = probe.attach()
    assert_type(watch.data(loader), Iterable[int])
    assert_type(watch.step(index=None), AbstractContextManager[None])
    assert_type(watch.step(), AbstractContextManager[None])
    assert_type(watch.checkpoint(), AbstractContextManager[None])
    assert_type(watch.evaluation(), AbstractContextManager[None])
    watch.phase("eval")
    assert_type(watch.collective("all_reduce"), AbstractContextManager[None])
    watch.record(loss=1.0, grad_norm=object(), learning_rate=1e-4, tokens=4096, scope="local")
    watch.detach()


def the_frameworks() -> None:
    """Hand the callbacks to Trainers that know nothing of Rankscope: each is Any to them."""
    assert_type(huggingface.RankscopeCallback(job="llm"), Any)
    assert_type(lightning.RankscopeCallback(), Any)
    assert_type(accelerate.RankscopeTracker("llm"), Any)


def the_words(incident: Incident) -> None:
    """Read the vocabulary as other tools do."""
    assert_type(incident.document(), dict[str, Any])
    assert_type(incident.job, str | None)
    assert_type(metrics.catalogue()["training.loss"].prometheus_name, str)
    assert_type(faults.catalogue()[faults.UNKNOWN].severity, faults.Severity)
    assert_type(findings.catalogue()["job.slow"].symptom, bool)
    assert_type(entities.rank(3, "gpu-12"), entities.Entity)
    assert_type(times.parse("2026-11-20T14:03:05Z"), float)
    assert_type(Sample("training.loss", 2.4, 0.0).value, float)
    assert_type(console.page("/"), tuple[bytes, str] | None)
