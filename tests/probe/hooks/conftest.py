import pytest
import torch

from rankscope import probe


@pytest.fixture
def model():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))


@pytest.fixture
def watch(listener):
    made = probe.attach(job="j", rank=0, environ=listener.environ)
    yield made
    made.detach()
