"""Batches of torch's own loader: their ids, and that nothing changes for the loop."""

from typing import Any

import pytest
import torch
from tests.probe.hooks.training import hooks

from rankscope import probe

DATA: Any = torch.arange(64 * 8).reshape(64, 8)


def held():
    return hooks()._timeline.batches


def train(loader, model, optimizer):
    seen = []
    for batch in loader:
        seen.append(batch.clone())
        optimizer.zero_grad()
        model(batch[:, :4].float()).mean().backward()
        optimizer.step()
    return torch.cat(seen)


@pytest.fixture
def optimizer(model):
    return torch.optim.SGD(model.parameters(), lr=1e-3)


@pytest.mark.parametrize("workers", [0, 2])
def test_the_indices_of_the_sampler_are_the_ids_of_the_samples(watch, model, optimizer, workers):
    order = torch.randperm(64).tolist()
    loader: Any = torch.utils.data.DataLoader(
        DATA, batch_size=8, sampler=order, num_workers=workers
    )
    assert torch.equal(DATA[order], train(loader, model, optimizer))
    assert [tuple(order[at : at + 8]) for at in range(0, 64, 8)] == [
        one.ids for one in held().batches()
    ]
    assert [*range(8)] == [one.step for one in held().batches()]
    assert 0 == watch.failures


def test_each_pass_over_a_loader_is_an_epoch_of_its_own(watch, model, optimizer):
    loader: Any = torch.utils.data.DataLoader(DATA, batch_size=32)
    for _ in range(2):
        train(loader, model, optimizer)
    first, second = {one.epoch for one in held().batches()[:2]}, held().batches()[2].epoch
    assert 1 == len(first)
    assert second not in first


def test_a_job_that_does_not_want_it_sends_nothing_of_its_batches(
    listener, model, optimizer, monkeypatch
):
    monkeypatch.setenv("RANKSCOPE_BATCHES", "0")
    watch = probe.attach(model=model, optimizer=optimizer, environ=listener.environ)
    train(torch.utils.data.DataLoader(DATA, batch_size=8), model, optimizer)
    watch.detach()
    listener.wait()
    assert [*range(8)] == listener.values("training.step")
    assert [] == listener.events("training.batch")


def test_batches_of_an_evaluation_are_none_of_a_step(watch, model, optimizer):
    loader: Any = torch.utils.data.DataLoader(DATA, batch_size=32)
    with watch.evaluation(), torch.no_grad():
        assert 2 == len([*loader])
    train(loader, model, optimizer)
    assert 2 == len(held().batches())


def test_a_dataset_names_its_samples_and_comes_back_as_it_is(watch):
    dataset = [1, 2, 3]
    assert dataset is watch.dataset(dataset, locate=lambda index: f"file:{index}")
    assert "file:2" == held().named([2])
