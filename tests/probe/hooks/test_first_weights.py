"""Weights of a job of several processes that no wrapper calls replicas."""

import torch
from tests.probe.hooks.training import hooks, train

from rankscope import probe


def test_weights_are_summed_beside_a_digest_of_those_before_the_first_update(listener, model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    watch = probe.attach(model=model, environ=listener.environ)
    hooks().context.is_distributed = True
    train(model, optimizer, steps=3)
    watch.detach()
    listener.wait()
    said = [one.attributes for one in listener.events("training.batch", reason="landmark")]
    assert 1 == len({one["weights_first"] for one in said})
    assert 3 == len({one["weights"] for one in said})
    assert said[0]["weights"].startswith("0=")
    assert not any("replicas" in one for one in said)


def test_a_job_of_one_process_has_no_replicas_to_compare(listener, model):
    watch = probe.attach(model=model, environ=listener.environ)
    train(model, torch.optim.SGD(model.parameters(), lr=0.1), steps=2)
    watch.detach()
    listener.wait()
    assert not any(
        "weights" in one.attributes for one in listener.events("training.batch", reason="landmark")
    )
